/* SPDX-License-Identifier: MIT */
#include "server/tcp.h"

#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

bool srv_tcp_taken(int fd, uint64_t *bytes)
{
    struct tcp_info info;
    socklen_t size = sizeof(info);

    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0 ||
        size < offsetof(struct tcp_info, tcpi_bytes_acked) + sizeof(info.tcpi_bytes_acked))
        return false;
    *bytes = info.tcpi_bytes_acked;
    return *bytes > 0;
}

bool srv_tcp_has_unsent(int fd)
{
    int waiting = 0;

    return ioctl(fd, SIOCOUTQ, &waiting) == 0 && waiting > 0;
}

bool srv_tcp_received(int fd, uint64_t *bytes)
{
    struct tcp_info info;
    socklen_t size = sizeof(info);
    int unread = 0;

    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0 ||
        size < offsetof(struct tcp_info, tcpi_bytes_received) + sizeof(info.tcpi_bytes_received) ||
        ioctl(fd, SIOCINQ, &unread) != 0 || info.tcpi_bytes_received < (uint64_t)unread)
        return false;
    *bytes = info.tcpi_bytes_received - (uint64_t)unread;
    return true;
}
