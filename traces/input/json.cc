#include "traces/input/json.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "traces/input/numbers.h"

namespace cosched {
namespace {

constexpr int kMaxDepth = 64;
constexpr size_t kMaxToken = 1 << 20;
constexpr size_t kMaxRecord = 1 << 20;
constexpr size_t kMaxFields = 256;

// The library's message without its own numbers and positions.
std::string Reason(const std::exception& error) {
  std::string_view text = error.what();
  const size_t column = text.find(": ");
  if (column != std::string_view::npos) text.remove_prefix(column + 2);
  return Quoted(text);
}

// Characters of the input, one by one, as the library asks for them. Copies share one state.
class Characters {
 public:
  Characters(TextInput* input, JsonPlace* place) : input_(input), place_(place) { Refill(); }
  explicit Characters(std::string_view text) : at_(text.data()), end_(at_ + text.size()) {}

  bool AtEnd() const { return at_ == end_; }
  char Get() const { return *at_; }
  void Advance() {
    if (*at_ == '\n' && place_ != nullptr) ++place_->line;
    if (++token_ > kMaxToken) Fail("holds more than 1 MiB without a value", "shorter texts");
    if (++at_ == end_ && input_ != nullptr) Refill();
  }
  void TokenEnds() { token_ = 0; }

 private:
  [[noreturn]] void Fail(const char* problem, const char* allowed) const {
    throw InputError({.file = place_ != nullptr ? *place_->file : "",
                      .line = place_ != nullptr ? place_->line : 0,
                      .problem = problem,
                      .allowed = allowed});
  }
  void Refill() {
    input_->Consume(piece_.size());
    piece_ = input_->Piece();
    at_ = piece_.data();
    end_ = at_ + piece_.size();
  }

  TextInput* input_ = nullptr;
  JsonPlace* place_ = nullptr;
  std::string_view piece_;
  const char* at_ = nullptr;
  const char* end_ = nullptr;
  size_t token_ = 0;
};

// What the library takes as a range of characters.
class CharacterIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = char;

  CharacterIterator() = default;  // The end.
  explicit CharacterIterator(Characters* characters) : characters_(characters) {}
  char operator*() const { return characters_->Get(); }
  CharacterIterator& operator++() {
    characters_->Advance();
    return *this;
  }
  CharacterIterator operator++(int) { return ++*this; }
  friend bool operator==(const CharacterIterator& a, const CharacterIterator& b) {
    return a.Ended() == b.Ended();
  }
  friend bool operator!=(const CharacterIterator& a, const CharacterIterator& b) {
    return !(a == b);
  }

 private:
  bool Ended() const { return characters_ == nullptr || characters_->AtEnd(); }
  Characters* characters_ = nullptr;
};

// From the library's events to ours. Its parser is a loop with a stack of bits, so that depth costs
// it nothing; the bound is for who listens.
class Adapter {
 public:
  using number_integer_t = nlohmann::json::number_integer_t;
  using number_unsigned_t = nlohmann::json::number_unsigned_t;
  using number_float_t = nlohmann::json::number_float_t;
  using string_t = nlohmann::json::string_t;
  using binary_t = nlohmann::json::binary_t;

  Adapter(Characters* characters, JsonEvents* events) : characters_(characters), events_(events) {}
  const std::string& Problem() const { return problem_; }

  bool null() { return Tell(JsonScalar::Kind::kNull, ""); }
  bool boolean(bool value) { return Tell(JsonScalar::Kind::kBoolean, value ? "true" : "false"); }
  bool number_integer(number_integer_t value) {
    return Tell(JsonScalar::Kind::kNumber, std::to_string(value));
  }
  bool number_unsigned(number_unsigned_t value) {
    return Tell(JsonScalar::Kind::kNumber, std::to_string(value));
  }
  bool number_float(number_float_t, const string_t& text) {
    return Tell(JsonScalar::Kind::kNumber, text);
  }
  bool string(string_t& value) { return Tell(JsonScalar::Kind::kString, value); }
  bool binary(binary_t&) { return false; }
  bool start_object(size_t) { return Deeper() && (events_->BeginObject(), true); }
  bool end_object() { return Shallower(), events_->EndObject(), true; }
  bool start_array(size_t) { return Deeper() && (events_->BeginArray(), true); }
  bool end_array() { return Shallower(), events_->EndArray(), true; }
  bool key(string_t& value) {
    characters_->TokenEnds();
    events_->Key(value);
    return true;
  }
  bool parse_error(size_t, const std::string&, const nlohmann::json::exception& error) {
    problem_ = "is no JSON: " + Reason(error);
    return false;
  }

 private:
  bool Tell(JsonScalar::Kind kind, std::string_view text) {
    characters_->TokenEnds();
    events_->Scalar({kind, text});
    return true;
  }
  bool Deeper() {
    characters_->TokenEnds();
    if (++depth_ <= kMaxDepth) return true;
    problem_ = "is nested more than " + std::to_string(kMaxDepth) + " deep";
    return false;
  }
  void Shallower() {
    characters_->TokenEnds();
    --depth_;
  }

  Characters* characters_;
  JsonEvents* events_;
  int depth_ = 0;
  std::string problem_;
};

// The problem, or "".
std::string Parse(Characters* characters, JsonEvents* events) {
  Adapter adapter(characters, events);
  if (nlohmann::json::sax_parse(CharacterIterator(characters), CharacterIterator(), &adapter))
    return "";
  return adapter.Problem();
}

constexpr const char* kJson = "JSON (RFC 8259)";

}  // namespace

void ParseJson(TextInput* input, JsonEvents* events, JsonPlace* place) {
  *place = {&input->File(), 1};
  Characters characters(input, place);
  const std::string problem = Parse(&characters, events);
  if (problem.empty()) return;
  throw InputError(
      {.file = *place->file, .line = place->line, .problem = problem, .allowed = kJson});
}

void ParseJsonLine(std::string_view line, JsonEvents* events, const JsonPlace& place) {
  Characters characters(line);
  const std::string problem = Parse(&characters, events);
  if (problem.empty()) return;
  throw BadRow({.file = *place.file,
                .line = place.line,
                .problem = problem + ": " + Quoted(line),
                .allowed = kJson});
}

void JsonRecord::Begin(const JsonPlace& place) {
  fields_.clear();
  bytes_ = 0;
  file_ = place.file;
  line_ = place.line;
}

void JsonRecord::Add(std::string key, JsonScalar::Kind kind, std::string text) {
  bytes_ += key.size() + text.size();
  if (bytes_ > kMaxRecord || fields_.size() == kMaxFields)
    Fail("", "is an object of more than 1 MiB or 256 keys", "smaller ones");
  const bool twice = std::any_of(fields_.begin(), fields_.end(),
                                 [&key](const Field& field) { return field.key == key; });
  if (twice) Fail(key, "is there twice", "once");
  fields_.push_back({std::move(key), kind, std::move(text)});
}

const JsonRecord::Field* JsonRecord::Find(std::string_view key) const {
  for (const Field& field : fields_) {
    if (field.key == key) return field.kind == JsonScalar::Kind::kNull ? nullptr : &field;
  }
  return nullptr;
}

const JsonRecord::Field& JsonRecord::Required(std::string_view key, const char* allowed) const {
  const Field* field = Find(key);
  if (field == nullptr) Fail(key, "is required", allowed);
  return *field;
}

std::string_view JsonRecord::Text(std::string_view key) const {
  return Required(key, "a text").text;
}

Duration JsonRecord::Seconds(std::string_view key) const {
  const Field& field = Required(key, "seconds");
  Duration time{0};
  if (!ParseSeconds(field.text, &time) || time < Duration::zero())
    Fail(key, "is " + Quoted(field.text), "seconds, 0 or more");
  return time;
}

Duration JsonRecord::Milliseconds(std::string_view key) const {
  const Field& field = Required(key, "milliseconds");
  Duration time{0};
  if (!ParseMilliseconds(field.text, &time) || time < Duration::zero())
    Fail(key, "is " + Quoted(field.text), "milliseconds, 0 or more");
  return time;
}

std::optional<int64_t> JsonRecord::Integer(std::string_view key, int64_t min, int64_t max) const {
  const Field* field = Find(key);
  if (field == nullptr) return std::nullopt;
  int64_t value = 0;
  if (!ParseWholeNumber(field->text, &value) || value < min || value > max) {
    Fail(key, "is " + Quoted(field->text),
         "a whole number from " + std::to_string(min) + " to " + std::to_string(max));
  }
  return value;
}

void JsonRecord::Fail(std::string_view key, const std::string& problem,
                      const std::string& allowed) const {
  throw BadRow({.file = file_ != nullptr ? *file_ : "",
                .line = line_,
                .key = std::string(key),
                .problem = problem,
                .allowed = allowed});
}

void JsonRecordBuilder::Begin(const JsonPlace& place) {
  record_.Begin(place);
  begun_ = false;
  depth_ = 0;
  path_.clear();
  prefixes_.clear();
  array_depth_ = 0;
  array_.clear();
  separate_ = false;
  streaming_ = false;
}

void JsonRecordBuilder::PopKey() { path_.resize(prefixes_.empty() ? 0 : prefixes_.back()); }

// Between the elements of an array that becomes text.
void JsonRecordBuilder::Separate() {
  if (separate_) array_ += ',';
  separate_ = false;
  if (array_.size() > kMaxRecord) record_.Fail(path_, "is longer than 1 MiB", "a shorter one");
}

void JsonRecordBuilder::BeginObject() {
  if (streaming_) RefuseInStream();
  begun_ = true;
  ++depth_;
  if (array_depth_ > 0) {
    Separate();
    ++array_depth_;
    array_ += '{';
    return;
  }
  if (depth_ > 1) path_ += '.';
  prefixes_.push_back(path_.size());
}

void JsonRecordBuilder::EndObject() {
  --depth_;
  if (array_depth_ > 0) {
    --array_depth_;
    array_ += '}';
    separate_ = true;
    return;
  }
  prefixes_.pop_back();
  PopKey();
}

void JsonRecordBuilder::BeginArray() {
  ++depth_;
  if (streaming_ || (array_depth_ == 0 && !stream_.empty() && path_ == stream_)) {
    if (streaming_) RefuseInStream();
    streaming_ = true;
    return;
  }
  Separate();
  ++array_depth_;
  array_ += '[';
}

void JsonRecordBuilder::EndArray() {
  --depth_;
  if (streaming_) {
    streaming_ = false;
    PopKey();
    return;
  }
  --array_depth_;
  array_ += ']';
  separate_ = true;
  if (array_depth_ > 0) return;
  record_.Add(path_, JsonScalar::Kind::kString, std::move(array_));
  array_.clear();
  separate_ = false;
  PopKey();
}

void JsonRecordBuilder::Key(std::string_view key) {
  if (array_depth_ == 0) {
    path_ += key;
    return;
  }
  Separate();
  array_ += nlohmann::json(key).dump();
  array_ += ':';
}

void JsonRecordBuilder::RefuseInStream() const {
  record_.Fail(path_, "holds an array or an object", "numbers only");
}

void JsonRecordBuilder::Scalar(const JsonScalar& scalar) {
  if (streaming_) return each_(scalar);
  if (array_depth_ == 0) {
    record_.Add(path_, scalar.kind, std::string(scalar.text));
    PopKey();
    return;
  }
  Separate();
  if (scalar.kind == JsonScalar::Kind::kString) {
    array_ += nlohmann::json(scalar.text).dump();
  } else {
    array_ += scalar.kind == JsonScalar::Kind::kNull ? "null" : scalar.text;
  }
  separate_ = true;
}

}  // namespace cosched
