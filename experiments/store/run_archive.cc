#include "experiments/store/run_archive.h"

#include <fmt/format.h>
#include <zip.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "engine/base/error.h"
#include "experiments/config/option_refusal.h"
#include "experiments/os/scratch_folder.h"
#include "experiments/records/manifest_file.h"
#include "experiments/records/output_file.h"

namespace cosched {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void RefuseFile(const fs::path& file, const std::string& problem) {
  throw InputError({.file = file.string(),
                    .problem = problem,
                    .allowed = "a zip file that `cosched runs export` has written"});
}

std::string ErrorText(int code) {
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  std::string text = zip_error_strerror(&error);
  zip_error_fini(&error);
  return text;
}

using Archive = std::unique_ptr<zip_t, void (*)(zip_t*)>;  // Discards what was not closed.

Archive Open(const fs::path& file, int flags, int* error) {
  return {zip_open(file.c_str(), flags, error), zip_discard};
}

// Compressing these again costs time and gains nothing.
bool IsCompressed(const fs::path& file) {
  return file.extension() == ".gz" || file.extension() == ".png" || file.extension() == ".pdf";
}

void AddFile(zip_t* archive, const fs::path& file, const std::string& name) {
  zip_source_t* const source = zip_source_file(archive, file.c_str(), 0, -1);
  const zip_int64_t index =
      source == nullptr ? -1 : zip_file_add(archive, name.c_str(), source, ZIP_FL_ENC_UTF_8);
  if (index < 0) {
    if (source != nullptr) zip_source_free(source);
    throw OutputError(fmt::format("{}: can't be added: {}", file.string(), zip_strerror(archive)));
  }
  if (IsCompressed(file))
    zip_set_file_compression(archive, static_cast<zip_uint64_t>(index), ZIP_CM_STORE, 0);
}

struct Entry {
  zip_uint64_t index;
  fs::path path;
};

// Where it lies below results/, if that is a place in a run: no way out of it.
bool IsPlaceInRun(const fs::path& path) {
  const auto plain = [](const fs::path& part) {
    return !part.empty() && part != "." && part != ".." &&
           part.string().find('\\') == std::string::npos;
  };
  return path.is_relative() && std::distance(path.begin(), path.end()) >= 3 &&
         std::all_of(path.begin(), path.end(), plain);
}

fs::path RunOf(const fs::path& path) { return *path.begin() / *std::next(path.begin()); }

// The files of the archive, all of one run.
std::vector<Entry> EntriesOf(const fs::path& file, zip_t* archive) {
  std::vector<Entry> entries;
  const zip_int64_t count = zip_get_num_entries(archive, 0);
  for (zip_int64_t i = 0; i < count; ++i) {
    const auto index = static_cast<zip_uint64_t>(i);
    const char* const name = zip_get_name(archive, index, 0);
    const std::string_view text = name == nullptr ? "" : name;
    if (text.ends_with('/')) continue;
    const fs::path path(text);
    if (!IsPlaceInRun(path))
      RefuseFile(file, fmt::format("holds \"{}\", which is in no run", text));
    if (!entries.empty() && RunOf(path) != RunOf(entries.front().path))
      RefuseFile(file, fmt::format("holds more than one run: \"{}\"", text));
    entries.push_back({index, path});
  }
  const auto is_manifest = [](const Entry& entry) {
    return entry.path == RunOf(entry.path) / kManifestName;
  };
  if (std::ranges::none_of(entries, is_manifest)) RefuseFile(file, "holds no run");
  return entries;
}

void Unpack(const fs::path& file, zip_t* archive, const Entry& entry, const fs::path& target) {
  const std::unique_ptr<zip_file_t, int (*)(zip_file_t*)> stream(
      zip_fopen_index(archive, entry.index, 0), zip_fclose);
  if (stream == nullptr)
    RefuseFile(file, fmt::format("\"{}\": {}", entry.path.string(), zip_strerror(archive)));
  fs::create_directories(target.parent_path());
  std::ofstream out(target, std::ios::binary);
  std::vector<char> buffer(1 << 16);
  zip_int64_t count;
  while ((count = zip_fread(stream.get(), buffer.data(), buffer.size())) > 0)
    out.write(buffer.data(), count);
  if (count < 0)
    RefuseFile(file,
               fmt::format("\"{}\": {}", entry.path.string(), zip_file_strerror(stream.get())));
  if (!out.flush()) throw OutputError(target.string() + ": can't be written");
}

}  // namespace

void ExportRun(const fs::path& run, const fs::path& file) {
  std::error_code there;
  if (fs::exists(file, there))
    RefuseOption("FILE", file.string() + " is there already", "a new file");
  int error = 0;
  const fs::path partial = file.string() + ".partial";
  fs::remove(partial, there);
  Archive archive = Open(partial, ZIP_CREATE | ZIP_EXCL, &error);
  if (archive == nullptr) throw OutputError(fmt::format("{}: {}", file.string(), ErrorText(error)));
  const fs::path whole = fs::canonical(run);
  const fs::path name = whole.parent_path().filename() / whole.filename();
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(whole)) {
    if (!entry.is_regular_file()) continue;
    AddFile(archive.get(), entry.path(),
            (name / entry.path().lexically_relative(whole)).generic_string());
  }
  if (zip_close(archive.get()) != 0) {
    const std::string why = zip_strerror(archive.get());
    throw OutputError(fmt::format("{}: {}", file.string(), why));
  }
  static_cast<void>(archive.release());  // Closing has freed it.
  RenameFile(partial, file);
}

fs::path ImportRun(const fs::path& file, const fs::path& results) {
  int error = 0;
  const Archive archive = Open(file, ZIP_RDONLY, &error);
  if (archive == nullptr) RefuseFile(file, ErrorText(error));
  const std::vector<Entry> entries = EntriesOf(file, archive.get());
  const fs::path run = RunOf(entries.front().path), target = results / run;
  if (std::error_code there; fs::exists(target, there))
    RefuseFile(file, fmt::format("holds {}, which is there already", target.string()));
  try {
    fs::create_directories(target.parent_path());
    const ScratchFolder folder(results, ".import");
    for (const Entry& entry : entries)
      Unpack(file, archive.get(), entry, folder.path() / entry.path);
    if (!ReadManifest(folder.path() / run)) RefuseFile(file, "holds no run: its manifest is none");
    RenameFile(folder.path() / run, target);
  } catch (const fs::filesystem_error& failed) {
    throw OutputError(failed.what());
  }
  return target;
}

}  // namespace cosched
