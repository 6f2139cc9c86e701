#include "engine/graph/tensor.h"

#include <gtest/gtest.h>

#include <vector>

namespace cosched {
namespace {

TEST(TensorTest, BuffersStartOnCacheLines) {
  for (int64_t size : {1, 3, 1000}) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(Tensor({size}).Data()) % 64, 0u);
  }
}

TEST(TensorTest, CopiesShareAndClonesDoNot) {
  Tensor original = Tensor::Scalar(1);
  Tensor copy = original;
  const Tensor clone = original.Clone();
  original.Floats()[0] = 2;
  EXPECT_EQ(copy.Floats()[0], 2);
  EXPECT_EQ(clone.Floats()[0], 1);
  EXPECT_TRUE(Tensor().Clone().IsEmpty());
}

TEST(TensorTest, ViewsShareTheBuffer) {
  const std::vector<float> values = {1, 2, 3, 4};
  const Tensor tensor = Tensor::Of({4}, values);
  EXPECT_EQ(tensor.Reshaped({2, 2}).Data(), tensor.Data());
  const Tensor prefix = tensor.Prefix({3}, DataType::kInt32);
  EXPECT_EQ(prefix.Data(), tensor.Data());
  EXPECT_EQ(prefix.GetShape(), Shape({3}));
  EXPECT_DEATH(tensor.Prefix({5}, DataType::kFloat), "does not fit");
  EXPECT_DEATH(tensor.Reshaped({3}), "cannot reshape");
}

TEST(TensorTest, AViewIsPartOfAnotherTensor) {
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  const Tensor tensor = Tensor::Of({3, 2}, values);
  Tensor view = Tensor::View({2, 2}, DataType::kFloat);
  EXPECT_TRUE(view.IsEmpty());
  view.ViewInto(tensor, 2);
  EXPECT_EQ(view.Floats(), tensor.Floats() + 2);
  EXPECT_EQ(view.GetShape(), Shape({2, 2}));
  view.ViewInto(tensor, 0);
  EXPECT_EQ(view.Floats()[3], 4);
  EXPECT_DEATH(view.ViewInto(tensor, 3), "element 3");
  EXPECT_DEATH(Tensor::View({1}, DataType::kInt32).ViewInto(tensor, 0), "element 0");
}

TEST(TensorTest, ElementsAreOfTheirType) {
  const std::vector<int32_t> labels = {7};
  const Tensor tensor = Tensor::Of({1}, labels);
  EXPECT_EQ(tensor.Ints()[0], 7);
  EXPECT_DEATH(tensor.Floats(), "tensor holds int32");
}

TEST(ShapeTest, CountsElements) {
  EXPECT_EQ(Shape().Elements(), 1);
  EXPECT_EQ(Shape({2, 3}).Elements(), 6);
  EXPECT_EQ(Shape({2, 3}).ToString(), "[2,3]");
}

}  // namespace
}  // namespace cosched
