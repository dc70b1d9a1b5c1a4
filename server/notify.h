/* SPDX-License-Identifier: MIT */
#ifndef SERVER_NOTIFY_H
#define SERVER_NOTIFY_H

/* Tells the service manager a state, "READY=1" or "STOPPING=1", by one datagram to the socket that
 * NOTIFY_SOCKET names (sd_notify's protocol, without its library). Nothing happens where no manager
 * asked for it. */
void srv_notify(const char *state);

#endif
