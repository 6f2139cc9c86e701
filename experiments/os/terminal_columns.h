#pragma once
// How wide the terminal is that a stream goes to, for what is drawn there. Any thread.

namespace cosched {

// Characters in a line of the file descriptor's terminal; 0 = it is none, or does not say.
int TerminalColumns(int fd);

}  // namespace cosched
