#!/usr/bin/env bash
# Leaves out of an unpacked oneDNN source tree what no kernel of ours calls: two thirds of its objects. Called by provide.sh.
#
#   lean.sh SOURCE
#
# Kept: float32 and bfloat16 with AVX2 or AVX-512, and the portable reference code; convolution, matmul,
# batch normalization, pooling, eltwise, binary, reduction, reorder; oneDNN's own GEMM in float32 alone, for what brgemm does
# not take (transposed weights on AVX2, odd convolutions). An implementation is chosen at run time from lists of source lines;
# lines are deleted from the lists, then the files that nothing names any more. What is deleted by mistake
# doesn't link, or (where a slower implementation takes its place) shows in experiments/peers/compare.sh.
set -euo pipefail
cd "${1:?usage: lean.sh SOURCE}/src/cpu"

# Lists of implementations: other types of numbers, older instructions, nested primitives.
others='amx|fp16|\bf16\b|\bf8_|[sux]8|i8i8|s32|int8|vnni|sse41|<avx,|ip_convolution|_fused_|\bgemm_bf16'
for list in cpu_{batch_normalization,binary,convolution,eltwise,pooling,reduction}_list.cpp matmul/cpu_matmul_list.cpp; do
  sed -i -E "/^ *CPU_INSTANCE(_[A-Z0-9]+)?\([^)]*($others)[^)]*\) *\$/d; /^ *BRGEMM_FP8_[A-Z_]+\(f8/d" "$list"
done

# Reorders: between float32 and bfloat16 alone.
sed -i -E '/^ *\{\{[a-z0-9_:]+, [a-z0-9_:]+, 0\}, &/{/\{f32, (f32|bf16), 0\}|\{bf16, data_type::undef, 0\}/!d}' \
  reorder/cpu_reorder.cpp
sed -i -E '/rnn_weights_reorder_t|REG_SR\(bf16, any, (s8|u8|f8_)/d' reorder/cpu_reorder_regular_*.cpp
find reorder -name 'cpu_reorder_*.cpp' ! -name '*_regular_bf16.cpp' ! -name '*_regular_f32_bf16.cpp' \
  ! -name '*_regular_f32_f32.cpp' -delete

# Primitives without an implementation: their lists are empty.
none=(deconvolution group_normalization inner_product layer_normalization lrn prelu resampling rnn shuffle softmax)
for kind in "${none[@]}"; do rm "cpu_${kind}_list.cpp"; done
rm cpu_concat.cpp cpu_sum.cpp
{
  printf '#include "cpu/cpu_engine.hpp"\n\nnamespace dnnl {\nnamespace impl {\nnamespace cpu {\n\n'
  printf 'static const impl_list_item_t no_list[] = {nullptr};\n'
  for kind in "${none[@]}"; do
    printf 'const impl_list_item_t *get_%s_impl_list(const %s_desc_t *) { return no_list; }\n' "$kind" "$kind"
  done
  for kind in concat sum; do
    printf 'const impl_list_item_t *cpu_engine_impl_list_t::get_%s_implementation_list() { return no_list; }\n' "$kind"
  done
  printf '\n} // namespace cpu\n} // namespace impl\n} // namespace dnnl\n'
} >cpu_empty_lists.cpp

# GEMM: the cases of other types and of machines older than AVX2, and the functions for other types.
for file in x64/gemm/gemm_info.cpp; do
  perl -0pi -e '
    s/case data_type::s8:.*?(?=case data_type::f32:)//sg;
    s/#if __BUILD_GEMM_SSE41\n.*?#endif\n//sg;
    s/#if __BUILD_GEMM_AVX2\n *\} else if \(mayiuse\(avx\)\) \{\n *(?:copy_a|kernel)\[.*?#endif\n//sg;
    s/template \/\/ For gemm_(?:s8|bf16).*?;\n//sg' "$file"
done
perl -0pi -e 's/template \/\/ Instantiate gemm_(?:bf16|s8).*?;\n//sg' x64/gemm/gemm_driver.cpp
perl -0pi -e 's/template \/\/ Instatiate gemv_bf16.*?;\n//s' x64/gemm/gemv_driver.cpp
perl -0pi -e 's/\/\/ Tries calling Intel MKL cblas_gemm.*(?=\} \/\/ namespace cpu)//s' gemm/gemm.cpp

# Sources of what is in no list now; headers stay, others include them.
find rnn x64/{rnn,lrn,prelu,shuffle} {,x64/}gemm/{s8x8s32,bf16} x64/gemm/amx -name '*.cpp' -delete
rm {,x64/}gemm/gemm_pack.cpp x64/gemm/f32/jit_{avx,sse41}_kernel_*.cpp x64/gemm/f32/jit_{avx,sse41,avx512_core}_f32_copy_*.cpp
unnamed='lrn|prelu|shuffle|softmax|resampling|(layer|group|instance)_normalization|deconvolution|deconv_|_deconv'
unnamed+='|x8s8|i8i8|_int8|_s8\.|eltwise_int|sparse_matmul|simple_(sum|concat)|xf16_sum|ip_convolution|sse41_(conv|1x1|dw)'
unnamed+='|amx_(1x1_conv|convolution)|inner_product\.cpp|brgemm_inner_product_utils|bwd_w\.cpp|/gemm_bf16'
find . -name '*.cpp' | grep -E "/[a-z0-9_]*($unnamed)" | xargs rm
