#include <utility>

#include "traces/input/json.h"

namespace cosched {
namespace {

using Others =
    std::function<void(std::string_view key, const JsonScalar& scalar, const JsonPlace& place)>;

// Objects of an array that is a value of the file's object, told one by one.
class ObjectsOfList final : public JsonEvents {
 public:
  ObjectsOfList(std::string_view list, const JsonPlace& place, JsonRecordBuilder* builder,
                const std::function<void()>& found, const Others& others)
      : list_(list), place_(place), builder_(builder), found_(found), others_(others) {}

  bool SawList() const { return saw_list_; }

  void BeginObject() override {
    if (depth_ == 2 && in_list_ && !collecting_) {
      collecting_ = true;
      builder_->Begin(place_);
    }
    if (collecting_) return builder_->BeginObject();
    ++depth_;
  }
  void EndObject() override {
    if (!collecting_) return Up();
    builder_->EndObject();
    if (!builder_->Whole()) return;
    collecting_ = false;
    found_();
  }
  void BeginArray() override {
    if (collecting_) return builder_->BeginArray();
    RefuseInList();
    ++depth_;
    if (depth_ == 2 && key_ == list_) in_list_ = saw_list_ = true;
  }
  void EndArray() override {
    if (collecting_) return builder_->EndArray();
    Up();
  }
  void Key(std::string_view key) override {
    if (collecting_) return builder_->Key(key);
    if (depth_ == 1) key_ = key;
  }
  void Scalar(const JsonScalar& scalar) override {
    if (collecting_) return builder_->Scalar(scalar);
    RefuseInList();
    if (depth_ == 1 && others_) others_(key_, scalar, place_);
  }

 private:
  void Up() {
    if (--depth_ == 1) in_list_ = false;
  }
  void RefuseInList() const {
    if (!in_list_) return;
    throw InputError({.file = *place_.file,
                      .line = place_.line,
                      .key = std::string(list_),
                      .problem = "holds something else than objects",
                      .allowed = "objects only"});
  }

  std::string_view list_;
  const JsonPlace& place_;
  JsonRecordBuilder* builder_;
  const std::function<void()>& found_;
  const Others& others_;
  int depth_ = 0;  // Outside of the objects that are collected.
  std::string key_;
  bool in_list_ = false;
  bool saw_list_ = false;
  bool collecting_ = false;
};

}  // namespace

void ReadObjects(TextInput* input, std::string_view list, JsonRecordBuilder* builder,
                 const std::function<void()>& found, const Others& others) {
  JsonPlace place{&input->File(), 1};
  ObjectsOfList objects(list, place, builder, found, others);
  ParseJson(input, &objects, &place);
  if (objects.SawList()) return;
  throw InputError({.file = input->File(),
                    .key = std::string(list),
                    .problem = "is not there",
                    .allowed = "an object with \"" + std::string(list) + "\": […]"});
}

}  // namespace cosched
