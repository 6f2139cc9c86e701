#pragma once
// A TOML file read with suspicion: every access says what it accepts, and what it doesn't accept is
// an InputError with file, line, dotted key and what is allowed. --set overrides are applied first
// and blamed on the command line. Immutable; a value.

#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/error.h"

namespace cosched {

struct TomlDocument;

class TomlTable {
 public:
  // overrides: "dotted.key=value" each, the value in TOML's notation (a bare word is taken as a
  // string). Elements of an array of tables go by index or by name: "workload.0.steps=10",
  // "workload.resnet20.steps=10".
  static TomlTable Load(const std::filesystem::path& file,
                        const std::vector<std::string>& overrides);
  // What a record says, in place of a file that says it: errors are blamed on `file`.
  static TomlTable FromJson(const std::filesystem::path& file, const nlohmann::ordered_json& json);
  // The whole file of this table with further overrides, without reading it again.
  TomlTable With(const std::vector<std::string>& overrides) const;

  std::filesystem::path File() const;
  // What the file's own paths are relative to; of a file that was named alone, ".".
  std::filesystem::path Folder() const;

  bool Has(std::string_view key) const;
  std::vector<std::string> Keys() const;
  void AllowOnly(const std::vector<std::string>& keys) const;

  // The value of a key, or the fallback where it is absent; without a fallback the key is required.
  using OptionalString = std::optional<std::string>;
  std::string String(std::string_view key, const OptionalString& fallback = {}) const;
  int64_t Integer(std::string_view key, std::optional<int64_t> fallback, int64_t min,
                  int64_t max) const;
  double Number(std::string_view key, std::optional<double> fallback, double min, double max) const;
  bool Boolean(std::string_view key, bool fallback) const;
  // Index of the word that it is. The key is required.
  size_t Word(std::string_view key, const std::vector<std::string>& words) const;
  std::vector<std::string> Strings(
      std::string_view key, const std::optional<std::vector<std::string>>& fallback = {}) const;
  // A string, number or boolean, as text. REQUIRES: it is one of Keys(). Refuses quoted keys with
  // dots.
  std::string ScalarText(std::string_view key) const;
  // Absolute: what is written is relative to the file's folder. The key is required; "" is refused.
  std::filesystem::path PathOf(std::string_view key) const;
  // An absent one reads as empty. shape: an example of one, for who wrote something else.
  TomlTable Table(std::string_view key, std::string_view shape = "") const;
  bool IsInteger(std::string_view key) const;
  bool IsString(std::string_view key) const;
  bool IsTable(std::string_view key) const;
  // Every value below this table that is no table itself, as dotted keys below it. Refuses quoted
  // keys with dots, which no dotted key can name.
  std::vector<std::string> Leaves() const;
  size_t Size(std::string_view key) const;  // Length of a list, with keys "key.0", "key.1", …
  std::string TomlText(std::string_view key) const;  // As --set takes it. REQUIRES: Has(key).
  std::vector<TomlTable> Tables(
      std::string_view key) const;  // [[key]]; an absent one reads as none.

  // Throws an InputError about `key` of this table (which may be deeper, "cores.min"; "" = the
  // table itself) at its line, or at the line of the nearest table around it. A [[workload]] goes
  // by its name there where it has one, as in --set.
  [[noreturn]] void Fail(std::string_view key, const std::string& problem,
                         const std::string& allowed) const;
  // About a quoted key that no path can name.
  [[noreturn]] void RefuseQuoted(std::string_view key) const;

  // What `open` returns, which reads the file that this key names. A file that can't be used as a
  // whole is this key's fault; what is wrong with a line or a key of it has a place of its own.
  template <typename Open>
  auto OfFile(std::string_view key, Open open) const {
    try {
      return open();
    } catch (const InputError& error) {
      BlameFile(key, error);
      throw;
    }
  }

 private:
  TomlTable(std::shared_ptr<const TomlDocument> document, std::string path);
  std::string Path(std::string_view key) const;
  void BlameFile(std::string_view key, const InputError& error) const;
  [[noreturn]] void Required(std::string_view key, const std::string& allowed) const;

  std::shared_ptr<const TomlDocument> document_;
  std::string path_;  // Dotted; "" is the whole file.
};

}  // namespace cosched
