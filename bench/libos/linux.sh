#!/bin/sh
# The first process of Linux where it is counted beside the library OS: the network, a service on one thread, no more.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
modprobe virtio_pci
modprobe virtio_net
modprobe e1000e
ip link set lo up
ip address add "$address/24" dev eth0
ip link set eth0 up
if [ -n "$delay" ]; then ethtool -C eth0 rx-usecs "$delay"; fi
ulimit -n 65536
case $app in
memcached) memcached --user=nobody --threads=1 --conn-limit=65000 $options & ;;
echo) echo-server "$port" & ;;
tpcc) bayop-tpcc --listen "0.0.0.0:$port" --workers 1 & ;;
esac
until nc.openbsd -z 127.0.0.1 "$port"; do sleep 0.1; done
echo "ready: $app on Linux $(uname -r)"
wait
