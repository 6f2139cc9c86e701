#pragma once
// What commands answer the shell with, beside 0. Used by every command.

namespace cosched {

inline constexpr int kFailed = 1;         // The command could not do it, or not wholly.
inline constexpr int kDiffers = 1;        // The command did it, and what was compared is not alike.
inline constexpr int kBadInput = 2;       // What was asked for can't be: one message has told why.
inline constexpr int kInterrupted = 130;  // As shells tell of a program that SIGINT has ended.

}  // namespace cosched
