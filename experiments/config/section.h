#pragma once
// A section of an experiment file as one list: each key with what it sets, what it takes, its
// default and what it means. Reading a table, refusing keys that are not listed, the JSON of the
// manifest, --dry-run and `cosched list keys` all follow from that list, so a key is added in one
// place. Lists are built once and never changed; thread-safe.

#include <functional>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/base/clock.h"
#include "experiments/config/section_help.h"
#include "experiments/config/toml_table.h"

namespace cosched {

constexpr int kMaxCount = 1'000'000;  // Of whatever a key counts, unless it has a bound of its own.

namespace section_internal {

template <typename T>
struct Unwrapped {
  using Type = T;
  static constexpr bool kOptional = false;
};
template <typename T>
struct Unwrapped<std::optional<T>> {
  using Type = T;
  static constexpr bool kOptional = true;
};

}  // namespace section_internal

// A member of a member: Inside(&WorkloadConfig::spec, &TenantSpec::batch).
template <typename Outer, typename Inner>
auto Inside(Outer outer, Inner inner) {
  return [ outer, inner ](auto& owner) -> auto& {
    return std::invoke(inner, std::invoke(outer, owner));
  };
}

// A key of the section that sets an Owner. `member` of the makers below is a pointer to a member of
// Owner, or Inside(…); its value in a fresh Owner is the key's default, and an std::optional one has
// none: where the key is absent, so is the value, and the manifest says null.
template <typename Owner>
struct SectionKey {
  using Json = nlohmann::ordered_json;
  // Throws InputError about the key. Null where the section's reader does it, later.
  using Reader = std::function<void(const SectionKey& key, const TomlTable& table, Owner* owner)>;
  // What the manifest says; null where that is in another place.
  using Recorder = std::function<Json(const Owner& owner)>;
  // Why the key has no meaning for this owner.
  struct Refusal {
    std::string problem, allowed;
  };

  KeyHelp help;
  Reader read = nullptr;
  Recorder record = nullptr;
  // Refused, and not recorded, where it returns a refusal.
  std::function<std::optional<Refusal>(const Owner& owner)> refuse = nullptr;
  bool is_key = true;         // Else only recorded.
  bool omits_absent = false;  // The manifest leaves out what would be null.
  bool is_in_manifest = true;

  // Whole numbers. A Duration member takes so many of `unit`.
  template <typename Member>
  static SectionKey Integer(const std::string& name, Member member, int64_t min, int64_t max,
                            const std::string& meaning, Duration unit = {});
  template <typename Member>
  static SectionKey Number(const std::string& name, Member member, double min, double max,
                           const std::string& meaning);
  // A Duration; units: of the key in a second, 1 or 1e3.
  template <typename Member>
  static SectionKey Time(const std::string& name, Member member, double units, double min,
                         double max, const std::string& meaning);
  template <typename Member>
  static SectionKey Boolean(const std::string& name, Member member, const std::string& meaning);
  // A key whose value is one of these, by the word that ToString(value) gives.
  template <typename Member, typename Enum>
  static SectionKey Choice(const std::string& name, Member member, std::vector<Enum> values,
                           const std::string& meaning);
  // A bool by two words.
  template <typename Member>
  static SectionKey EitherWord(const std::string& name, Member member, std::string if_false,
                               std::string if_true, const std::string& meaning);
  template <typename Member>
  static SectionKey Text(const std::string& name, Member member, const std::string& range,
                         const std::string& meaning);
  // With a reader of its own.
  static SectionKey Read(const KeyHelp& help, Reader read, Recorder record) {
    return {.help = help, .read = std::move(read), .record = std::move(record)};
  }
  // Recorded in the manifest, but nothing that a file may say.
  static SectionKey Recorded(const std::string& name, Recorder record) {
    return {.help = {.name = name}, .record = std::move(record), .is_key = false};
  }

  SectionKey Required() && {
    help.fallback = "required";
    return std::move(*this);
  }
  // What list keys tells as the default, where it is not simply a value.
  SectionKey Default(std::string text) && {
    help.fallback = std::move(text);
    return std::move(*this);
  }
  SectionKey OmittedWhereAbsent() && {
    omits_absent = true;
    return std::move(*this);
  }
  SectionKey RecordedAs(Recorder recorder) && {
    record = std::move(recorder);
    return std::move(*this);
  }
  // The manifest tells it in another place.
  SectionKey NotInManifest() && {
    is_in_manifest = false;
    return std::move(*this);
  }
  SectionKey RefusedWhere(std::function<std::optional<Refusal>(const Owner& owner)> why) && {
    refuse = std::move(why);
    return std::move(*this);
  }

  bool IsRequired() const { return help.fallback == "required"; }
};

// The lists of a long section's parts, one behind the other.
template <typename Owner>
std::vector<SectionKey<Owner>> Joined(std::initializer_list<std::vector<SectionKey<Owner>>> parts) {
  std::vector<SectionKey<Owner>> keys;
  for (const std::vector<SectionKey<Owner>>& part : parts)
    keys.insert(keys.end(), part.begin(), part.end());
  return keys;
}

// A key with the value that it has; unset: what that means, where the value is null or empty.
struct KeyValue {
  std::string key;
  nlohmann::ordered_json value;
  std::string unset;
};

template <typename Owner>
class Section {
 public:
  using Json = nlohmann::ordered_json;

  Section(std::string heading, std::string about, std::vector<SectionKey<Owner>> keys)
      : heading_(std::move(heading)), about_(std::move(about)), keys_(std::move(keys)) {}

  std::vector<std::string> Names() const;
  void RefuseOthers(const TomlTable& table) const { table.AllowOnly(Names()); }
  // Every key that has a reader, in the order of the list. Throws InputError.
  void ReadListed(const TomlTable& table, Owner* owner) const;
  void Read(const TomlTable& table, Owner* owner) const {
    RefuseOthers(table);
    ReadListed(table, owner);
  }
  // All that is recorded, as the manifest has it.
  Json ToJson(const Owner& owner) const;
  // Keys with their values, also those that the manifest tells in another place.
  std::vector<KeyValue> Values(const Owner& owner) const;
  SectionHelp Help() const;

 private:
  static bool IsRefused(const SectionKey<Owner>& key, const Owner& owner) {
    return key.refuse && key.refuse(owner);
  }

  std::string heading_;
  std::string about_;
  std::vector<SectionKey<Owner>> keys_;
};

// ---------------------------------------------------------------------------------------------

template <typename Owner>
template <typename Member>
SectionKey<Owner> SectionKey<Owner>::Integer(const std::string& name, Member member, int64_t min,
                                             int64_t max, const std::string& meaning,
                                             Duration unit) {
  using Value = std::remove_cvref_t<std::invoke_result_t<Member, Owner&>>;
  using Whole = typename section_internal::Unwrapped<Value>::Type;
  const auto from = [unit](int64_t read) -> Whole {
    if constexpr (std::is_same_v<Whole, Duration>) {
      return read * unit;
    } else {
      return static_cast<Whole>(read);
    }
  };
  const auto to = [unit](const Whole& value) -> int64_t {
    if constexpr (std::is_same_v<Whole, Duration>) {
      return value / unit;
    } else {
      return static_cast<int64_t>(value);
    }
  };
  return {.help = {.name = name,
                   .type = "integer",
                   .range = IntegerRange(min, max),
                   .meaning = meaning},
          .read =
              [=](const SectionKey& key, const TomlTable& table, Owner* owner) {
                Value& value = std::invoke(member, *owner);
                if constexpr (section_internal::Unwrapped<Value>::kOptional) {
                  if (table.Has(key.help.name))
                    value = from(table.Integer(key.help.name, {}, min, max));
                } else if (key.IsRequired()) {
                  value = from(table.Integer(key.help.name, {}, min, max));
                } else {
                  value = from(table.Integer(key.help.name, to(value), min, max));
                }
              },
          .record = [=](const Owner& owner) -> Json {
            const Value& value = std::invoke(member, owner);
            if constexpr (section_internal::Unwrapped<Value>::kOptional) {
              return value ? Json(to(*value)) : Json();
            } else {
              return to(value);
            }
          }};
}

template <typename Owner>
template <typename Member>
SectionKey<Owner> SectionKey<Owner>::Number(const std::string& name, Member member, double min,
                                            double max, const std::string& meaning) {
  return {
      .help = {.name = name, .type = "number", .range = NumberRange(min, max), .meaning = meaning},
      .read =
          [=](const SectionKey& key, const TomlTable& table, Owner* owner) {
            double& value = std::invoke(member, *owner);
            value = table.Number(key.help.name,
                                 key.IsRequired() ? std::nullopt : std::optional(value), min, max);
          },
      .record = [=](const Owner& owner) -> Json { return std::invoke(member, owner); }};
}

template <typename Owner>
template <typename Member>
SectionKey<Owner> SectionKey<Owner>::Time(const std::string& name, Member member, double units,
                                          double min, double max, const std::string& meaning) {
  using Value = std::remove_cvref_t<std::invoke_result_t<Member, Owner&>>;
  return {
      .help = {.name = name, .type = "number", .range = NumberRange(min, max), .meaning = meaning},
      .read =
          [=](const SectionKey& key, const TomlTable& table, Owner* owner) {
            Value& value = std::invoke(member, *owner);
            if (!table.Has(key.help.name) && !key.IsRequired()) return;
            value = FromSeconds(table.Number(key.help.name, {}, min, max) / units);
          },
      .record = [=](const Owner& owner) -> Json {
        const Value& value = std::invoke(member, owner);
        if constexpr (section_internal::Unwrapped<Value>::kOptional) {
          return value ? Json(ToSeconds(*value) * units) : Json();
        } else {
          return ToSeconds(value) * units;
        }
      }};
}

template <typename Owner>
template <typename Member>
SectionKey<Owner> SectionKey<Owner>::Boolean(const std::string& name, Member member,
                                             const std::string& meaning) {
  return {.help = {.name = name, .type = "boolean", .range = "true, false", .meaning = meaning},
          .read =
              [=](const SectionKey& key, const TomlTable& table, Owner* owner) {
                bool& value = std::invoke(member, *owner);
                value = table.Boolean(key.help.name, value);
              },
          .record = [=](const Owner& owner) -> Json { return std::invoke(member, owner); }};
}

template <typename Owner>
template <typename Member, typename Enum>
SectionKey<Owner> SectionKey<Owner>::Choice(const std::string& name, Member member,
                                            std::vector<Enum> values, const std::string& meaning) {
  using Value = std::remove_cvref_t<std::invoke_result_t<Member, Owner&>>;
  std::vector<std::string> words;
  for (const Enum value : values) words.emplace_back(ToString(value));
  return {.help = {.name = name, .type = "word", .range = WordsRange(words), .meaning = meaning},
          .read =
              [=](const SectionKey& key, const TomlTable& table, Owner* owner) {
                if (!table.Has(key.help.name) && !key.IsRequired()) return;
                Value& value = std::invoke(member, *owner);
                value = values[table.Word(key.help.name, words)];
              },
          .record = [=](const Owner& owner) -> Json {
            const Value& value = std::invoke(member, owner);
            if constexpr (section_internal::Unwrapped<Value>::kOptional) {
              return value ? Json(ToString(*value)) : Json();
            } else {
              return ToString(value);
            }
          }};
}

template <typename Owner>
template <typename Member>
SectionKey<Owner> SectionKey<Owner>::EitherWord(const std::string& name, Member member,
                                                std::string if_false, std::string if_true,
                                                const std::string& meaning) {
  const std::vector<std::string> words = {std::move(if_false), std::move(if_true)};
  return {.help = {.name = name, .type = "word", .range = WordsRange(words), .meaning = meaning},
          .read =
              [=](const SectionKey& key, const TomlTable& table, Owner* owner) {
                if (table.Has(key.help.name))
                  std::invoke(member, *owner) = table.Word(key.help.name, words) == 1;
              },
          .record = [=](const Owner& owner) -> Json {
            return words[std::invoke(member, owner) ? 1 : 0];
          }};
}

template <typename Owner>
template <typename Member>
SectionKey<Owner> SectionKey<Owner>::Text(const std::string& name, Member member,
                                          const std::string& range, const std::string& meaning) {
  return {.help = {.name = name, .type = "text", .range = range, .meaning = meaning},
          .read =
              [=](const SectionKey& key, const TomlTable& table, Owner* owner) {
                std::string& value = std::invoke(member, *owner);
                value = table.String(key.help.name, key.IsRequired()
                                                        ? std::nullopt
                                                        : TomlTable::OptionalString(value));
              },
          .record = [=](const Owner& owner) -> Json { return std::invoke(member, owner); }};
}

template <typename Owner>
std::vector<std::string> Section<Owner>::Names() const {
  std::vector<std::string> names;
  for (const SectionKey<Owner>& key : keys_)
    if (key.is_key) names.push_back(key.help.name);
  return names;
}

template <typename Owner>
void Section<Owner>::ReadListed(const TomlTable& table, Owner* owner) const {
  for (const SectionKey<Owner>& key : keys_) {
    if (key.refuse && table.Has(key.help.name)) {
      if (const auto refusal = key.refuse(*owner))
        table.Fail(key.help.name, refusal->problem, refusal->allowed);
    }
    if (key.read && !IsRefused(key, *owner)) key.read(key, table, owner);
  }
}

template <typename Owner>
nlohmann::ordered_json Section<Owner>::ToJson(const Owner& owner) const {
  Json json = Json::object();
  for (const SectionKey<Owner>& key : keys_) {
    if (!key.record || !key.is_in_manifest || IsRefused(key, owner)) continue;
    Json value = key.record(owner);
    if (!value.is_null() || !key.omits_absent) json[key.help.name] = std::move(value);
  }
  return json;
}

template <typename Owner>
std::vector<KeyValue> Section<Owner>::Values(const Owner& owner) const {
  std::vector<KeyValue> values;
  for (const SectionKey<Owner>& key : keys_) {
    if (!key.is_key || !key.record || IsRefused(key, owner)) continue;
    Json value = key.record(owner);
    if (!value.is_null() || !key.omits_absent)
      values.push_back({key.help.name, std::move(value), key.help.fallback});
  }
  return values;
}

template <typename Owner>
SectionHelp Section<Owner>::Help() const {
  SectionHelp section{.heading = heading_, .about = about_, .keys = {}};
  const Owner fresh{};
  for (const SectionKey<Owner>& key : keys_) {
    if (!key.is_key) continue;
    KeyHelp help = key.help;
    if (help.fallback.empty() && key.record) {
      const Json value = key.record(fresh);
      help.fallback = value.is_null() ? "none" : InlineToml(value);
    }
    section.keys.push_back(std::move(help));
  }
  return section;
}

}  // namespace cosched
