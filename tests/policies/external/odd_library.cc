// A shared library that is not what cosched can load, in the way that the build asks for: another
// version of the interface, other headers, or no policy at all.

#include "policies/policy_library.h"

#ifdef COSCHED_ODD_VERSION
extern "C" const cosched::PolicyLibrary* CoschedPolicyLibrary() {
  static const cosched::PolicyLibrary library = {.version = 999};
  return &library;
}
#elif defined(COSCHED_ODD_LAYOUT)
extern "C" const cosched::PolicyLibrary* CoschedPolicyLibrary() {
  static const cosched::PolicyLibrary library = {.layout = 1};
  return &library;
}
#else
extern "C" int CoschedHasNoPolicyHere() { return 0; }
#endif
