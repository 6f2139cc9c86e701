#pragma once
// 128-bit integers, for sums that must be exact: of squared nanoseconds, of a billion sizes.

namespace cosched {

__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 Uint128;

}  // namespace cosched
