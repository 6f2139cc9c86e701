#pragma once
// What a server tells its host of what it has done for requests, on the socket that the control
// thread's messages use too. Called by lanes of a service and by a device's answering thread.
// Stateless; thread-safe.

#include <string>

#include "experiments/wire/request_packets.h"

namespace cosched {

// Blocks until the host has read what was sent to it, up to a quarter of the socket's buffer: the
// control thread's messages must always find room. Sends nothing if the host is gone.
void SendWhenThereIsRoom(int socket, const std::string& packet);

// The same, in as many packets as it takes.
void SendAnswers(int socket, AnsweredBatch batch);

}  // namespace cosched
