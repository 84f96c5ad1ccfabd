// Entry points by which the program finds out that streams are idle.

#include "api/preload/interposer.h"
#include "api/preload/real_driver.h"

namespace polypath::preload {
namespace {

// What is issued from here on, by another thread, is not known to be over.
template <class Call, class Note>
Result note_if_idle(const Call& call, const Note& note) {
  Interposer& interposer = Interposer::get();
  const TransferNumber newest = interposer.newest_transfer();
  const Result result = call();
  if (newest != 0 && result == cuda::kSuccess) note(interposer, newest);
  return result;
}

template <auto Call, NullStream Null>
Result ask_stream(StreamPointer stream) {
  return note_if_idle([=] { return (real().*Call)(stream); },
                      [=](Interposer& interposer, TransferNumber newest) {
                        interposer.note_idle_stream(stream_of(stream, Null), newest);
                      });
}

}  // namespace

Result cuStreamSynchronize(StreamPointer stream) {
  return ask_stream<&RealFunctions::cuStreamSynchronize, NullStream::legacy>(stream);
}

Result cuStreamSynchronize_ptsz(StreamPointer stream) {
  return ask_stream<&RealFunctions::cuStreamSynchronize_ptsz, NullStream::own>(stream);
}

Result cuStreamQuery(StreamPointer stream) {
  return ask_stream<&RealFunctions::cuStreamQuery, NullStream::legacy>(stream);
}

Result cuStreamQuery_ptsz(StreamPointer stream) {
  return ask_stream<&RealFunctions::cuStreamQuery_ptsz, NullStream::own>(stream);
}

Result cuCtxSynchronize() {
  return note_if_idle([] { return real().cuCtxSynchronize(); },
                      [](Interposer& interposer, TransferNumber newest) {
                        interposer.note_idle_context(nullptr, newest);
                      });
}

Result cuCtxSynchronize_v2(ContextPointer context) {
  return note_if_idle([=] { return real().cuCtxSynchronize_v2(context); },
                      [=](Interposer& interposer, TransferNumber newest) {
                        interposer.note_idle_context(context, newest);
                      });
}

}  // namespace polypath::preload
