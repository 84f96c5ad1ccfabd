// Access of contexts to the memory of others.

#include "standin/state/process.h"

namespace polypath::standin {
namespace {

void enable_peer(Process& process, ContextPointer peer) {
  Context& current = process.contexts.current();
  if (peer == current.handle) refuse(kInvalidContext, "a context is no peer of its own");
  const Context& other = process.contexts.find(peer);
  const Gpu& from = process.contexts.gpu(current.ordinal);
  if (!from.reaches[process.contexts.gpu(other.ordinal).index])
    refuse(kPeerAccessUnsupported, "the GPUs cannot reach each other");
  if (!current.peers.insert(peer).second)
    refuse(kPeerAccessAlreadyEnabled, "peer access is enabled already");
}

}  // namespace
}  // namespace polypath::standin

using namespace polypath::standin;

STANDIN_EXPORT Result cuCtxEnablePeerAccess(ContextPointer peer, unsigned) {
  return enter("cuCtxEnablePeerAccess", [&](Process& process) {
    process.check_no_capture();
    enable_peer(process, peer);
  });
}

STANDIN_EXPORT Result cuCtxDisablePeerAccess(ContextPointer peer) {
  return enter("cuCtxDisablePeerAccess", [&](Process& process) {
    process.check_no_capture();
    if (process.contexts.current().peers.erase(peer) == 0)
      refuse(kPeerAccessNotEnabled, "peer access is not enabled");
  });
}
