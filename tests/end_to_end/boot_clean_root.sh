# Boots the systemd of the folder $1 as process 1, in namespaces of its own (tests/end_to_end/test_package.py calls it
# through unshare), with the empty folder $2 as scratch. What it writes is in memory and ends with it; of the host it
# sees the kernel only.
set -eu
mount --make-rprivate /
mount -t tmpfs tmpfs "$2"
cd "$2"
mkdir changes work root
mount -t overlay -o "lowerdir=$1,upperdir=$2/changes,workdir=$2/work" overlay root
cd root
mount -t proc proc proc
mount -t sysfs sysfs sys # of the new network namespace: no NIC of the host is in it
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs -o mode=755 tmpfs run
mount -t tmpfs -o mode=755 tmpfs dev
for node in null zero full random urandom tty; do
    touch "dev/$node"
    mount --bind "/dev/$node" "dev/$node"
done
mkdir dev/pts
mount -t devpts -o newinstance,ptmxmode=666 devpts dev/pts
ln -s pts/ptmx dev/ptmx
pivot_root . mnt
exec env --ignore-environment container=test PATH=/usr/sbin:/usr/bin chroot . sh -c '
    umount --lazy /mnt
    exec /lib/systemd/systemd --unit=multi-user.target --show-status=no'
