#include "standin/state/captures.h"

#include <algorithm>

namespace polypath::standin {

void check_valid(const Capturing& at) {
  if (at.capture->invalid) refuse(kCaptureInvalidated, "the capture went wrong before");
}

void spoil(const Capturing& at, Result result, const std::string& why) {
  at.capture->invalid = true;
  refuse(result, why);
}

void add_copy(Capturing& at, CopyNode node) {
  check_valid(at);
  node.after.assign(at.tips.begin(), at.tips.end());
  at.tips = {static_cast<int>(at.capture->nodes.size())};
  at.capture->nodes.push_back(std::move(node));
}

void join(Capturing& at, const Capturing& event) {
  if (!event.active()) spoil(at, kCaptureIsolation, "a captured stream waits for one that is not");
  check_valid(event);
  if (at.active() && at.capture != event.capture)
    spoil(at, kCaptureIsolation, "a captured stream waits for another capture");
  at.capture = event.capture;
  at.tips.insert(event.tips.begin(), event.tips.end());
}

bool covers(const Capturing& at, const std::set<int>& nodes) {
  std::set<int> before;
  std::vector<int> open(at.tips.begin(), at.tips.end());
  while (!open.empty()) {
    const int node = open.back();
    open.pop_back();
    if (!before.insert(node).second) continue;
    const auto& after = at.capture->nodes[static_cast<std::size_t>(node)].after;
    open.insert(open.end(), after.begin(), after.end());
  }
  return std::includes(before.begin(), before.end(), nodes.begin(), nodes.end());
}

int& thread_capture_mode() {
  thread_local int mode = kCaptureGlobal;
  return mode;
}

}  // namespace polypath::standin
