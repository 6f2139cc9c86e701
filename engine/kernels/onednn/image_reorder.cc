#include "engine/kernels/onednn/image_reorder.h"

#include <algorithm>
#include <cstddef>
#include <oneapi/dnnl/dnnl_threadpool.hpp>

#include "engine/base/check.h"
#include "engine/kernels/onednn/primitive.h"
#include "engine/kernels/pieces.h"

namespace cosched::onednn {
namespace {

using dnnl::memory;

// Images follow each other, whatever the layout of one is.
bool KeepsImagesApart(const memory::desc& layout) {
  if (layout.get_format_kind() != memory::format_kind::blocked || layout.get_ndims() != 4)
    return false;
  const memory::dims inner = layout.get_inner_idxs(), strides = layout.get_strides();
  return std::find(inner.begin(), inner.end(), 0) == inner.end() &&
         *std::max_element(strides.begin(), strides.end()) == strides[0];
}

memory::desc FirstImages(const memory::desc& all, int64_t images) {
  memory::dims sizes = all.get_dims();
  sizes[0] = images;
  return all.submemory_desc(sizes, memory::dims(sizes.size(), 0), /*allow_empty=*/true);
}

int64_t BytesOfImage(const memory::desc& layout) {
  return layout.get_strides()[0] *
         static_cast<int64_t>(memory::data_type_size(layout.get_data_type()));
}

// What stands at an offset of another one's memory.
void Bind(const memory& part, const memory& whole, int64_t offset) {
  void* data = nullptr;
  dnnl_memory_get_data_handle(whole.get(), &data);
  dnnl_memory_set_data_handle(part.get(), static_cast<std::byte*>(data) + offset);
}

void Run(const dnnl::reorder& reorder, const dnnl::stream& stream, const memory& from,
         const memory& to) {
  const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_FROM, from.get()}, {DNNL_ARG_TO, to.get()}};
  const dnnl_status_t status =
      dnnl_primitive_execute(reorder.get(), stream.get(), std::size(arguments), arguments);
  CHECK(status == dnnl_success) << "oneDNN reorder: status " << status;
}

}  // namespace

std::unique_ptr<ImageReorder> ImageReorder::Make(const memory& from, const memory& to, int tasks) {
  const memory::desc source = from.get_desc(), target = to.get_desc();
  if (!KeepsImagesApart(source) || !KeepsImagesApart(target)) return nullptr;
  const int64_t images = source.get_dims()[0];
  const Division division{images, std::min<int64_t>(tasks, images)};
  const CapacityScope alone(1);
  auto result = std::make_unique<ImageReorder>();
  result->from_ = from;
  result->to_ = to;
  for (int64_t i = 0; i < division.parts; ++i) {
    const memory::desc part_from = FirstImages(source, division.Size(i));
    const memory::desc part_to = FirstImages(target, division.Size(i));
    if (!part_from || !part_to) return nullptr;
    const dnnl::reorder::primitive_desc descriptor(CpuEngine(), part_from, CpuEngine(), part_to,
                                                   Attributes());
    if (descriptor.scratchpad_desc().get_size() != 0) return nullptr;
    result->parts_.push_back(
        {dnnl::reorder(descriptor), dnnl::stream(CpuEngine()),
         memory(part_from, CpuEngine(), nullptr), memory(part_to, CpuEngine(), nullptr),
         division.Begin(i) * BytesOfImage(source), division.Begin(i) * BytesOfImage(target)});
  }
  return result;
}

void ImageReorder::Execute(ThreadPools& pools) {
  pools.intra().ParallelFor(static_cast<int>(parts_.size()), [this](int index) {
    const Part& part = parts_[static_cast<size_t>(index)];
    Bind(part.from, from_, part.from_offset);
    Bind(part.to, to_, part.to_offset);
    Run(part.reorder, part.stream, part.from, part.to);
  });
}

}  // namespace cosched::onednn
