#pragma once
// The files beside an ONNX model that hold its tensors. A path may not leave the model's folder,
// and no file gives more bytes than it has, however many tensors point into it. Used by
// onnx_file.cc. Not thread-safe.

#include <cstdint>
#include <fstream>
#include <map>
#include <string>

namespace cosched {

class ExternalData {
 public:
  // As the file has them: numbers are text, and may be left out.
  struct Place {
    std::string location;
    std::string offset;
    std::string length;
  };

  // `model`: the model's file; empty where the model is no file, which then has no such data.
  explicit ExternalData(std::string model) : model_(std::move(model)) {}

  // The file, at the first of so many bytes, which it has. Throws InputError naming the model's
  // file and the tensor.
  std::ifstream Open(const Place& place, const std::string& tensor, size_t bytes);

 private:
  std::string model_;
  std::map<std::string, uint64_t> left_;  // Bytes that a file may still give.
};

}  // namespace cosched
