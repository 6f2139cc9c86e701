#pragma once
// Expects an InputError about this file or key whose message contains a text, so that a test can't
// pass by the wrong error.

#include <gtest/gtest.h>

#include <string>

#include "engine/base/error.h"

namespace cosched {

template <typename Callable>
void ExpectInputError(Callable call, const std::string& where, const std::string& text) {
  try {
    call();
    ADD_FAILURE() << "no error; expected one about " << where << ": " << text;
  } catch (const InputError& error) {
    const std::string& file = error.details().file;
    EXPECT_EQ(file.empty() ? error.details().key : file, where);
    EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
  }
}

}  // namespace cosched
