#pragma once
// The optimiser's passes, each a walk over the graph in its order. Fused ops (engine/graph/ops.md):
// _FusedConv2D and _FusedMatMul compute activation(op(x, weights) + bias [+ residual]) with
// constant weights and bias; _FusedScale is activation(x * factor + offset) by channel. Called by
// optimizer.cc.

namespace cosched {

class GraphRewriter;

// Zeros that a Pad puts around images become the padding of the convolution after it.
void FoldPadding(GraphRewriter* graph);
// Layer norms and GELU that are written out in elementary ops: _FusedLayerNorm, Gelu. A product at
// each pixel of images, which files write as one of a matrix between two Reshapes, becomes a
// convolution of 1x1. In written_out.cc.
void FuseLayerNorms(GraphRewriter* graph);
void FuseGelus(GraphRewriter* graph);
void ConvolvePixels(GraphRewriter* graph);
// A constant vector that is added to each row or pixel of a convolution or product: BiasAdd.
void NormaliseBiases(GraphRewriter* graph);
// Batch norms in inference: into filter and bias of the convolution or product before them, else
// _FusedScale.
void FoldBatchNorms(GraphRewriter* graph);
// Constant factors by channel (a layer scale): the same.
void FoldScales(GraphRewriter* graph);
// Convolutions and products with constant weights become fused ops, with their BiasAdd if they have
// one, else with zeros.
void FuseBiases(GraphRewriter* graph);
// AddV2 of a fused convolution and a tensor that is ready before it.
void FuseResiduals(GraphRewriter* graph);
void FuseActivations(GraphRewriter* graph);

}  // namespace cosched
