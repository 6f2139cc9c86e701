#pragma once
// What a process keeps of the memory that it freed. Called by processes that run a pipeline whose
// chunks are large, before their threads.

namespace cosched {

// Blocks of a MiB and more go back to the system as soon as they are freed. glibc does so only until
// the first of them is: then it keeps blocks of that size, up to 32 MiB, and lays small ones between
// them, so chunks and runs of records that come and go leave holes and the process grows with the
// length of what it works on, not with what it holds.
void ReturnLargeBlocks();

}  // namespace cosched
