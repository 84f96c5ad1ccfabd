#include "api/preload/busy.h"

namespace polypath::preload {
namespace {

thread_local bool busy = false;

}  // namespace

Busy::Busy() { busy = true; }

Busy::~Busy() { busy = false; }

bool Busy::is_this_thread() { return busy; }

}  // namespace polypath::preload
