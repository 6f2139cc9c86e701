# cmake -P: writes OUTPUT, a .cc with the text of files of FOLDER, each list of them, PageStyle and so on, as the constant of that name.
# A string literal may be 65,536 bytes long, so each file is one of its own.
set(constants "")
foreach(name PageStyle PageScript ReportScript ReproductionScript)
  set(literals "")
  foreach(part ${${name}})
    file(READ "${FOLDER}/${part}" text)
    if(text MATCHES "\\)page\"")
      message(FATAL_ERROR "${part} holds the end of a string literal")
    endif()
    string(APPEND literals "\nR\"page(${text})page\"")
  endforeach()
  string(APPEND constants "constexpr std::string_view k${name} =${literals};\n")
endforeach()
file(WRITE "${OUTPUT}" "// Written by experiments/report/page_parts.cmake.
#include \"experiments/report/page.h\"

namespace cosched {

${constants}
}  // namespace cosched
")
