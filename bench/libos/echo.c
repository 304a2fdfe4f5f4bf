/* The other side of NetPIPE's ping-pong on Linux, as cheap as sockets have it: what was read is written, on one
 * connection after the other.
 *
 * echo PORT
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static char buffer[1 << 20];

static void serve(int connection)
{
    ssize_t got;

    while ((got = read(connection, buffer, sizeof(buffer))) > 0)
        for (ssize_t sent = 0, now; sent < got; sent += now)
            if ((now = write(connection, buffer + sent, got - sent)) < 0)
                return;
}

int main(int count, char **words)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(count > 1 ? atoi(words[1]) : 7)};
    int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1;

    if (bind(listener, (struct sockaddr *)&address, sizeof(address)) != 0 || listen(listener, 16) != 0)
        return 1;
    for (;;) {
        int connection = accept(listener, NULL, NULL);

        if (connection < 0)
            continue;
        setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        serve(connection);
        close(connection);
    }
}
