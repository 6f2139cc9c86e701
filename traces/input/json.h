#pragma once
// JSON as traces hold it, read event by event (nlohmann-json's SAX interface), so that memory grows
// with what is kept and not with the file, nor with how deeply it is nested. Used by the readers of
// JSON formats. Not thread-safe.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/clock.h"
#include "traces/input/row.h"
#include "traces/input/text_input.h"

namespace cosched {

// A string, number, true, false or null.
struct JsonScalar {
  enum class Kind : uint8_t { kNull, kBoolean, kNumber, kString };
  Kind kind = Kind::kNull;
  std::string_view text;  // A number as the file writes it; a string's content; "" for null.
};

// What a JSON text consists of, in its order.
class JsonEvents {
 public:
  virtual ~JsonEvents() = default;
  virtual void BeginObject() = 0;
  virtual void EndObject() = 0;
  virtual void BeginArray() = 0;
  virtual void EndArray() = 0;
  virtual void Key(std::string_view key) = 0;
  virtual void Scalar(const JsonScalar& scalar) = 0;
};

// A text's position, for errors.
struct JsonPlace {
  const std::string* file;
  int line;
};

// Tells `events` the whole of the input, which is one JSON value. `place` is kept up to date.
// Throws InputError for what is no JSON, is nested more than 64 deep, or has a number or string of
// more than 1 MiB.
void ParseJson(TextInput* input, JsonEvents* events, JsonPlace* place);
// The same of one line of JSON lines. Throws BadRow.
void ParseJsonLine(std::string_view line, JsonEvents* events, const JsonPlace& place);

// An object as a flat list: what is inside of inner objects has dotted keys ("arguments.alpha"),
// arrays are text ("[1,2]"). Not more than 1 MiB and 256 keys.
class JsonRecord {
 public:
  struct Field {
    std::string key;
    JsonScalar::Kind kind;
    std::string text;
  };

  void Begin(const JsonPlace& place);  // Empty, at the object's line.
  void Add(std::string key, JsonScalar::Kind kind, std::string text);

  const std::vector<Field>& Fields() const { return fields_; }
  int Line() const { return line_; }
  size_t Bytes() const { return bytes_; }
  const Field* Find(std::string_view key) const;  // Null where it is absent or null.

  // These throw BadRow where the field is no such value; the optional ones are empty where it is
  // absent.
  std::string_view Text(std::string_view key) const;  // Required.
  Duration Seconds(std::string_view key) const;       // Required, >= 0.
  Duration Milliseconds(std::string_view key) const;  // Required, >= 0.
  std::optional<int64_t> Integer(std::string_view key, int64_t min, int64_t max) const;
  [[noreturn]] void Fail(std::string_view key, const std::string& problem,
                         const std::string& allowed) const;

 private:
  const Field& Required(std::string_view key, const char* allowed) const;

  std::vector<Field> fields_;
  size_t bytes_ = 0;
  const std::string* file_ = nullptr;
  int line_ = 0;
};

// Collects the events of one object into a record.
class JsonRecordBuilder final : public JsonEvents {
 public:
  void Begin(const JsonPlace& place);  // Before the object's BeginObject.
  bool Whole() const { return depth_ == 0 && begun_; }
  const JsonRecord& Record() const { return record_; }
  // The array of this dotted key does not become text: `each` is told its numbers or texts instead,
  // one by one, so that it may be of any length.
  void Stream(std::string key, std::function<void(const JsonScalar& scalar)> each) {
    stream_ = std::move(key);
    each_ = std::move(each);
  }

  void BeginObject() override;
  void EndObject() override;
  void BeginArray() override;
  void EndArray() override;
  void Key(std::string_view key) override;
  void Scalar(const JsonScalar& scalar) override;

 private:
  void PopKey();
  void Separate();
  [[noreturn]] void RefuseInStream() const;

  JsonRecord record_;
  bool begun_ = false;
  int depth_ = 0;  // Depth of objects and arrays, the object itself included.
  std::string path_;
  std::vector<size_t> prefixes_;  // Lengths of path_, one an object.
  int array_depth_ = 0;           // Depth of the array that becomes text, and what is inside of it.
  std::string array_;
  bool separate_ = false;
  std::string stream_;
  std::function<void(const JsonScalar& scalar)> each_;
  bool streaming_ = false;
};

// Reads the objects in `list`, an array that is a value of the file's own object, into `builder`,
// one after the other, and calls `found` for each. Throws InputError, also where there is no such
// list. `others` is told the file's other values that are no array or object.
void ReadObjects(TextInput* input, std::string_view list, JsonRecordBuilder* builder,
                 const std::function<void()>& found,
                 const std::function<void(std::string_view key, const JsonScalar& scalar,
                                          const JsonPlace& place)>& others = {});

}  // namespace cosched
