# cmake -P: writes OUTPUT, a .cc with the text of PARTS, files of FOLDER: those that end in .css as kPageStyle, the others, in their order,
# as kPageScript. A string literal may be 65,536 bytes long, so each file is one of its own.
set(style "")
set(script "")
foreach(part ${PARTS})
  file(READ "${FOLDER}/${part}" text)
  if(text MATCHES "\\)page\"")
    message(FATAL_ERROR "${part} holds the end of a string literal")
  endif()
  if(part MATCHES "\\.css$")
    string(APPEND style "\nR\"page(${text})page\"")
  else()
    string(APPEND script "\nR\"page(${text})page\"")
  endif()
endforeach()
file(WRITE "${OUTPUT}" "// Written by experiments/report/page_parts.cmake.
#include \"experiments/report/page.h\"

namespace cosched {

constexpr std::string_view kPageStyle =${style};
constexpr std::string_view kPageScript =${script};

}  // namespace cosched
")
