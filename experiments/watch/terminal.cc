#include "experiments/watch/terminal.h"

// Its macros have names such as "move" and "timeout".
#define NCURSES_NOMACROS
#include <curses.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "experiments/os/interrupt.h"

namespace cosched {
namespace {

constexpr short kGoodColour = 1, kBadColour = 2;
constexpr int kEscape = 27;

// As long as it lives the terminal is ours.
class CursesScreen {
 public:
  CursesScreen() : screen_(newterm(nullptr, stdout, stdin)) {
    if (!Works()) return;
    cbreak();
    noecho();
    keypad(stdscr, true);
    curs_set(0);
    const char* const no_colour = std::getenv("NO_COLOR");
    const bool wanted = no_colour == nullptr || *no_colour == '\0';
    if (!wanted || !has_colors() || start_color() == ERR) return;
    use_default_colors();
    init_pair(kGoodColour, COLOR_GREEN, -1);
    init_pair(kBadColour, COLOR_RED, -1);
    coloured_ = true;
  }
  ~CursesScreen() {
    if (screen_ == nullptr) return;
    endwin();
    delscreen(screen_);
  }
  CursesScreen(const CursesScreen&) = delete;
  CursesScreen& operator=(const CursesScreen&) = delete;

  // There is such a terminal, and its cursor can be moved.
  bool Works() const {
    if (screen_ == nullptr) return false;
    const char* const how = tigetstr("cup");
    return how != nullptr && how != reinterpret_cast<const char*>(-1);
  }

  void Show(const Frame& frame) const {
    erase();
    const int rows = std::min(getmaxy(stdscr), static_cast<int>(frame.size()));
    for (int y = 0; y < rows; ++y) {
      move(y, 0);
      for (const FrameSpan& span : frame[static_cast<size_t>(y)]) {
        attrset(AttributesOf(span.style));
        addnstr(span.text.data(), static_cast<int>(span.text.size()));
      }
    }
    attrset(A_NORMAL);
    refresh();
  }

 private:
  // Without colours what is well looks like the rest, and what is not stands out.
  int AttributesOf(FrameStyle style) const {
    switch (style) {
      case FrameStyle::kPlain: return A_NORMAL;
      case FrameStyle::kTitle:
      case FrameStyle::kHead: return A_BOLD;
      case FrameStyle::kGood: return coloured_ ? COLOR_PAIR(kGoodColour) : A_NORMAL;
      case FrameStyle::kBad: return coloured_ ? COLOR_PAIR(kBadColour) | A_BOLD : A_BOLD;
      case FrameStyle::kFaint: return coloured_ ? A_DIM : A_NORMAL;
      case FrameStyle::kBar: return A_REVERSE;
    }
    return A_NORMAL;
  }

  SCREEN* const screen_;
  bool coloured_ = false;
};

WatchKey KeyOfCode(int code) {
  switch (code) {
    case 'q':
    case 'Q': return WatchKey::kQuit;
    case KEY_LEFT: return WatchKey::kEarlier;
    case KEY_RIGHT: return WatchKey::kLater;
    case KEY_PPAGE: return WatchKey::kMuchEarlier;
    case KEY_NPAGE: return WatchKey::kMuchLater;
    case KEY_HOME: return WatchKey::kBegin;
    case KEY_END: return WatchKey::kEnd;
    case KEY_UP: return WatchKey::kUp;
    case KEY_DOWN: return WatchKey::kDown;
    case 'n':
    case '\t': return WatchKey::kNextCell;
    case 'p': return WatchKey::kPreviousCell;
    case 'g': return WatchKey::kFirstCell;
    case 'G': return WatchKey::kLastCell;
    case ' ': return WatchKey::kPlay;
    case '?':
    case 'h': return WatchKey::kHelp;
    case kEscape:
    case '\n':
    case KEY_ENTER: return WatchKey::kBack;
    default: return WatchKey::kNone;  // KEY_RESIZE too: the next picture has the new size.
  }
}

}  // namespace

bool WatchOnTerminal(WatchSession* session) {
  if (isatty(STDIN_FILENO) == 0 || isatty(STDOUT_FILENO) == 0) return false;
  const CursesScreen screen;
  if (!screen.Works()) return false;
  while (!session->Over() && !Interrupted()) {
    session->Refresh(WatchSession::SteadyClock::now());
    screen.Show(session->Draw(getmaxx(stdscr), getmaxy(stdscr)));
    timeout(static_cast<int>(session->Pause().count()));
    const int code = getch();
    if (code == ERR && isatty(STDIN_FILENO) == 0) return true;  // The terminal is gone.
    session->Press(KeyOfCode(code));
  }
  return true;
}

}  // namespace cosched
