#pragma once
// A file's content, for readers to whom a file that can't be read is as good as an empty one. Those
// that must tell why it can't be read open it themselves. Callable from any thread.

#include <filesystem>
#include <string>

namespace cosched {

// All of them; "" where it can't be read.
std::string FileBytes(const std::filesystem::path& file);

}  // namespace cosched
