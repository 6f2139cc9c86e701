#pragma once
// A WatchSession on a terminal, by ncurses: any that can move its cursor, with colours or without
// (NO_COLOR, vt100), of any size. One thread.

#include "experiments/watch/watch_session.h"

namespace cosched {

// False, with nothing shown, if standard input and output are no such terminal.
bool WatchOnTerminal(WatchSession* session);

}  // namespace cosched
