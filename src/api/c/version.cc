#include "polypath.h"

const char* polypath_version(void) { return POLYPATH_VERSION_TEXT; }
