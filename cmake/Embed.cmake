# Run at build time: writes text files as a C++ map name -> text.
#   cmake -DOUTPUT=<cpp> -DNAMESPACE=<ns> -DFUNCTION=<name> -DFILES=<;-list> -P Embed.cmake
set(code "#include <map>\n#include <string>\n\nnamespace ${NAMESPACE} {\n\n")
string(APPEND code "const std::map<std::string, std::string>& ${FUNCTION}();\n")
string(APPEND code "const std::map<std::string, std::string>& ${FUNCTION}() {\n")
string(APPEND code "  static const std::map<std::string, std::string> files{\n")
foreach(file IN LISTS FILES)
  get_filename_component(name ${file} NAME)
  file(READ ${file} text)
  string(APPEND code "      {\"${name}\", R\"~~~(${text})~~~\"},\n")
endforeach()
string(APPEND code "  };\n  return files;\n}\n\n}  // namespace ${NAMESPACE}\n")
file(WRITE ${OUTPUT} "${code}")
