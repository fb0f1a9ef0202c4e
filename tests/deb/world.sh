#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# world.sh SET-UP DIR: in the root of examples.sh, begin anew with what the examples of a page need; DIR is
# the folder in which they are run. world.sh by_CHECK FILE: check a file that a page shows.
# All addresses are of this root alone. Host names are those of the pages.
set -euo pipefail
docs=/usr/share/doc/resex/examples
world=/srv/world

# wait_for SECONDS COMMAND...
wait_for() {
	local tries=$(($1 * 10))
	shift
	until "$@" >/dev/null 2>&1; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || { echo "not in time: $*"; "$@" || true; return 1; }
		sleep 0.1
	done
}

# down: what the set-up before has started and written.
down() {
	systemctl stop 'world-*' resexd resex-cached varnish haproxy 2>/dev/null || true
	systemctl reset-failed 2>/dev/null || true
	rm -rf /etc/resex $world /var/lib/resex /var/lib/resex-cached /etc/systemd/system/*.service.d /usr/local/sbin/resexd \
		/run/resex /etc/varnish/resex.vcl /etc/varnish/static.vcl /tmp/auction.db* /tmp/pages /tmp/figures /var/log/haproxy.log
	cp -a /srv/as-installed/resex /etc/resex
	cp -a /srv/as-installed/default.vcl /etc/varnish/
	cp -a /srv/as-installed/haproxy.cfg /etc/haproxy/
	mkdir $world
	systemctl daemon-reload
	hostname xen1
}

# as_first: once, before the first set-up. op is the user of the prompt "$".
as_first() {
	[ ! -e /srv/as-installed ] || return 0
	groupadd shop
	useradd -m -G resex,shop -s /bin/bash op
	usermod -aG shop,varnish resex-cached
	printf '%s\n' '127.0.0.1 localhost xen1 app1' '10.0.0.30 db' >/etc/hosts
	mkdir /srv/as-installed
	cp -a /etc/resex /etc/varnish/default.vcl /etc/haproxy/haproxy.cfg /srv/as-installed/
}

# stays NAME COMMAND...: a host's program, as a unit world-NAME. OPTIONS are those of systemd-run.
stays() {
	local name=$1
	shift
	# shellcheck disable=SC2086
	systemd-run -q --collect --unit="world-$name" -p LimitMEMLOCK=infinity ${OPTIONS-} "$@"
}

# key FILE: all hosts have the same one.
key() {
	(umask 077; [ -e /srv/key ] || openssl rand -hex 32 >/srv/key; rm -f "$1"; cat /srv/key >"$1")
}

# dropin UNIT LINE...
dropin() {
	mkdir -p "/etc/systemd/system/$1.service.d"
	printf '%s\n' '[Unit]' ConditionPathExists= '[Service]' "${@:2}" >"/etc/systemd/system/$1.service.d/world.conf"
	systemctl daemon-reload
}

# operator KEY...: an "editor" that makes these changes (sed) to the file that it is given.
operator() {
	printf '#!/bin/sh\nsed -i %s "$1"\n' "$(printf -- "-e '%s' " "$@")" >/usr/local/sbin/editor
	chmod +x /usr/local/sbin/editor
}

set_up_none() { :; }

# The unit, on the simulated host: guests "server" and "bulk".
set_up_sim() {
	dropin resexd ExecStart= 'ExecStart=/usr/sbin/resexd --hv sim -c /etc/resex/resexd.json' ExecStopPost=
	systemctl start resexd
	wait_for 20 sh -c 'resex list | grep -q "^bulk"'
	sleep 2 # rates are those of the last second
}

# The same, of which a trace was recorded.
set_up_recorded() {
	set_up_sim
	resex trace-start /var/lib/resex/evening.trace
	sleep 5
	resex trace-stop
	install -m 644 /var/lib/resex/evening.trace "$2"
}

# resexd on a fake Xen (fake_xen.c) with a guest that spends too much CPU, by the unit and by hand.
set_up_xen() {
	[ -e /dev/xen/caps ] || (cd /dev/xen && printf xen >./type && printf 0x00000800 >features && touch privcmd log)
	printf '\000\000\000\000\120\000\000\001\000\001\000\001' >/dev/xen/caps
	printf '#!/bin/sh\nLD_PRELOAD=/usr/local/lib/fake_xen.so exec /usr/sbin/resexd "$@"\n' >/usr/local/sbin/resexd
	chmod +x /usr/local/sbin/resexd
	dropin resexd Environment=LD_PRELOAD=/usr/local/lib/fake_xen.so
	operator 's/"10Gbit.s"/"25Gbit\/s"/'
}

# The same, while "resexd --observe" runs.
set_up_observed() {
	set_up_xen
	OPTIONS='-p RuntimeDirectory=resex' stays observe /usr/local/sbin/resexd --observe
	wait_for 20 sh -c 'resex list | grep -q "^bulk"'
	sleep 2
}

# The same, after a resexd that was killed while the guest was capped.
set_up_crashed() {
	set_up_xen
	OPTIONS='-p RuntimeDirectory=resex -p RuntimeDirectoryPreserve=yes' stays crash /usr/local/sbin/resexd
	wait_for 60 sh -c 'kill -STOP $(cat /run/resex/resexd.lock) && sleep 0.2 &&
		{ [ "$(od -A n -t u2 -j 4 -N 2 /dev/xen/caps | tr -d " ")" != 80 ] || ! kill -CONT $(cat /run/resex/resexd.lock); }'
	kill -9 "$(cat /run/resex/resexd.lock)"
	sleep 0.5
}

# host_files HOST: of a host beside the first: its files are in a folder of its own.
host_files() {
	mkdir -p "$world/$1/state"
	sed -e "1a\"host\": \"$1\"," -e "s|/etc/resex/cluster.key|$world/$1/key|" /etc/resex/cluster.json >"$world/$1/cluster.json"
	key "$world/$1/key"
}

# resexd_of HOST...: simulated hosts over TCP; xen1 is the unit.
resexd_of() {
	local host
	for host in "$@"; do
		host_files "$host"
		sed -e "1a\"cluster_file\": \"$world/$host/cluster.json\", \"socket\": \"$world/$host/sock\"," \
			-e "1a\"state_dir\": \"$world/$host/state\", \"lock_file\": \"$world/$host/lock\"," \
			/etc/resex/resexd.json >"$world/$host/resexd.json"
		stays "$host" resexd --hv sim -c "$world/$host/resexd.json"
	done
	sed -i '1a"cluster_file": "/etc/resex/cluster.json",' /etc/resex/resexd.json
	set_up_sim
}

# Three hosts of a cluster, with nodes of two services; HAProxy and a web server on each of two.
set_up_hosts() {
	local n
	cat >/etc/resex/cluster.json <<-'EOT'
	{
	 "cluster": "prod", "transport": "tcp", "key_file": "/etc/resex/cluster.key",
	 "hosts": [
	  { "name": "xen1", "number": 1, "address": "10.0.0.1" },
	  { "name": "xen2", "number": 2, "address": "10.0.0.2" },
	  { "name": "xen3", "number": 3, "address": "10.0.0.3" },
	  { "name": "peek", "number": 200, "role": "client" }
	 ],
	 "services": [ { "name": "web", "number": 1, "balancers": ["xen1"] },
	               { "name": "mail", "number": 2, "balancers": ["xen1"] } ],
	 "nodes": [
	  { "name": "n1", "number": 1, "host": "xen1", "service": "web" },
	  { "name": "n2", "number": 1, "host": "xen2", "service": "web" },
	  { "name": "n3", "number": 1, "host": "xen3", "service": "mail" }
	 ],
	 "balance": [ { "service": "web", "socket": "/run/haproxy/admin.sock" } ],
	 "reconf": { "S": "100ms", "T": "5s" }
	}
	EOT
	key /etc/resex/cluster.key
	cp /etc/resex/cluster.json /tmp/cluster.json
	for n in 1 2; do
		stays "web$n" socat "TCP-LISTEN:80,bind=10.0.0.$n,fork,reuseaddr" 'SYSTEM:printf "HTTP/1.0 200 OK\r\n\r\nok\n"'
	done
	cat >/etc/haproxy/haproxy.cfg <<-'EOT'
	global
	    stats socket /run/haproxy/admin.sock mode 600 level admin
	defaults
	    mode http
	    timeout connect 5s
	    timeout client 5s
	    timeout server 5s
	backend web
	    balance roundrobin
	    server n1 10.0.0.1:80 check weight 100
	    server n2 10.0.0.2:80 check weight 100
	EOT
	systemctl start haproxy
	resexd_of xen2 xen3
	wait_for 30 sh -c '[ "$(resex list --all-hosts | grep -c bulk)" = 3 ]'
	sleep 3
}

# What README needs to make a cluster: xen2 is there, and waits for the key and the file.
set_up_new_cluster() {
	set_up_sim
	operator 's/"epoch"/"cluster_file": "\/etc\/resex\/cluster.json",\n &/'
}

# database NAME: a PostgreSQL, which runs, with an empty database for an application whose pages are cached.
database() {
	local run="psql -X -q -v ON_ERROR_STOP=1 -h db"
	echo "listen_addresses = '10.0.0.30'" >/etc/postgresql/15/main/conf.d/world.conf
	echo 'host all all 10.0.0.0/8 trust' >/etc/postgresql/15/main/pg_hba.conf
	systemctl start postgresql@15-main
	wait_for 30 psql -X -h db -U postgres -c ''
	$run -U postgres <<-EOT
	DROP DATABASE IF EXISTS $1;
	SELECT 'CREATE ROLE owner LOGIN; CREATE ROLE resex LOGIN; CREATE ROLE reader LOGIN' WHERE NOT EXISTS
		(SELECT FROM pg_roles WHERE rolname = 'owner') \gexec
	CREATE DATABASE $1 OWNER owner;
	EOT
	$run -U owner -1 -f /usr/share/resex/cache/schema.sql "$1"
	$run -U postgres "$1" <<-EOT
	SELECT resex.admit('resex');
	GRANT USAGE ON SCHEMA public TO resex, reader;
	ALTER DEFAULT PRIVILEGES FOR ROLE owner GRANT SELECT ON TABLES TO reader;
	ALTER DEFAULT PRIVILEGES FOR ROLE owner GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO resex;
	ALTER DEFAULT PRIVILEGES FOR ROLE owner GRANT USAGE ON SEQUENCES TO resex;
	EOT
}

# cached_hosts DATABASE: hosts of /etc/resex/cluster.json that cache. This one is app1, by the unit; the first
# proxy has the ring at the usual place. Files and keys are those of the user resex-cached.
cached_hosts() {
	local host role sql="\"sql\": { \"backend\": \"pgsql\", \"where\": \"host=10.0.0.30 dbname=$1 user=resex\" }"
	hostname app1
	key /etc/resex/cluster.key
	mkdir -p /run/resex-cached
	echo "{ \"socket_group\": \"shop\", $sql }" >/etc/resex/cached.json
	jq -r '.hosts[] | select(.role == "app" or .role == "proxy") | .name + " " + .role' /etc/resex/cluster.json | grep -v '^app1 ' |
		while read -r host role; do
			host_files "$host"
			echo "{ \"cluster_file\": \"$world/$host/cluster.json\", \"state_dir\": \"$world/$host/state\"," \
				"\"socket\": \"$world/$host/api.sock\"," \
				"$(if [ "$role" = app ]; then echo "$sql"; else echo "\"ring\": \"$world/$host/ring.sock\", \"ring_group\": \"varnish\""; fi) }" \
				>"$world/$host/cached.json"
		done
	chmod 755 $world
	chown -R resex-cached: $world /etc/resex/cluster.key
	systemctl start resex-cached
	jq -r '.hosts[] | select(.role == "app" or .role == "proxy") | .name' /etc/resex/cluster.json | grep -v '^app1$' | while read -r host; do
		OPTIONS="--uid=resex-cached" stays "$host" resex-cached -c "$world/$host/cached.json"
	done
	ln -sfn $world/front1/ring.sock /run/resex-cached/ring.sock
	wait_for 30 sh -c 'runuser -u resex-cached -- resex-peek -c /etc/resex/cluster.json | grep -q "^app1 .* beats"'
}

# The hosts of cluster.json(5), where pages of a shop are cached.
set_up_shop() {
	cp "$docs/cluster-cache.json" /etc/resex/cluster.json
	database shop
	psql -X -q -h db -U owner shop -c 'CREATE TABLE item (id bigint PRIMARY KEY, price numeric); INSERT INTO item VALUES (5, 12)' \
		-c "SELECT resex.protect('item')"
	cached_hosts shop
}

# The same, after an update.
set_up_updated() {
	set_up_shop
	curl -sf --unix-socket /run/resex-cached/api.sock http://x/v1/update \
		-d '{ "tags": ["item/5"], "statements": [ { "sql": "UPDATE item SET price = 13" } ] }'
}

# Two application servers and two proxies in front of them; the auction is served on the former.
set_up_auction() {
	local n
	cat >/etc/resex/cluster.json <<-'EOT'
	{
	 "cluster": "auction", "transport": "tcp",
	 "hosts": [
	  { "name": "app1", "number": 1, "role": "app", "address": "10.0.0.1" },
	  { "name": "app2", "number": 2, "role": "app", "address": "10.0.0.2" },
	  { "name": "front1", "number": 11, "role": "proxy", "address": "10.0.0.11" },
	  { "name": "front2", "number": 12, "role": "proxy", "address": "10.0.0.12" },
	  { "name": "peek", "number": 200, "role": "client" }
	 ],
	 "cache": { "fresh": "1s", "detect": "2s", "words": 65536, "slots": 8 }
	}
	EOT
	database auction
	cached_hosts auction
}

# The same, when the auction runs. What is of the sources alone is in the folder.
set_up_served() {
	local n
	cp -a /srv/sources/. "$2"
	set_up_auction
	(cd $docs && resex-auction -d "host=db dbname=auction user=owner" --init --schema auction.sql --guard auction-guard.sql)
	stays auction1 resex-auction -d "host=db dbname=auction user=reader" -l 10.0.0.1:8080
	stays auction2 resex-auction -d "host=db dbname=auction user=reader" -l 10.0.0.2:8080 -c $world/app2/api.sock
	stays auction resex-auction -d "host=db dbname=auction user=reader" -l 127.0.0.1:8080
	for n in 1 2; do
		{
			printf 'vcl 4.1;\nbackend default { .host = "10.0.0.%d"; .port = "8080"; }\n' $n
			sed "s|/run/resex-cached/ring.sock|$world/front$n/ring.sock|" $docs/resex.vcl
		} >$world/front$n/front.vcl
		stays "varnish$n" varnishd -F -j unix,user=vcache -n "/var/lib/varnish/front$n" -a "10.0.0.1$n:80" -f "$world/front$n/front.vcl" -s malloc,64m
		wait_for 20 curl -sf "http://10.0.0.1$n/"
	done
}

# An auction in a file.
set_up_sqlite() {
	(cd $docs && runuser -u op -- resex-auction -d sqlite:/tmp/auction.db --init --schema auction-sqlite.sql)
}

# An "editor" that types what is in /tmp/typed where "systemctl edit" wants it; and a service to edit.
set_up_typed() {
	printf '[Service]\nExecStart=/bin/sleep infinity\n' >/run/systemd/system/trader.service
	systemctl daemon-reload
	printf '#!/bin/sh\nsed -i "2r /tmp/typed" "$1"\n' >/usr/local/sbin/editor
	chmod +x /usr/local/sbin/editor
}

# The packages, in the folder, and not installed.
set_up_debs() {
	cp /debs/*.deb "$2"
	dpkg -r resexd resex resex-agent
}

# The log of a real HAProxy.
set_up_log() {
	install -m 644 /srv/sources/tests/cli/httplog.txt /var/log/haproxy.log
}

# Files of the pages that others name.
set_up_files() {
	cp /etc/resex/resexd.json $docs/scenarios/paper.json "$2"
	chmod 666 "$2"/*
}

# The sources, in the folder.
set_up_sources() {
	cp -a /srv/sources/. "$2"
	chmod 777 "$2"
}

# checked_cluster FILE: with the shortest resexd.json.
checked_cluster() {
	key /etc/resex/cluster.key
	echo "{ \"links\": [ { \"name\": \"ib0\", \"rate\": \"10Gbit/s\" } ], \"cluster_file\": \"$1\" }" >/tmp/with-cluster.json
	resexd --check -c /tmp/with-cluster.json
}

by_resexd() { resexd --check -c "$1"; }

by_cluster() {
	local host
	# What of it a host of the cache needs, that one says.
	if grep -q '"role": "app"' "$1"; then
		for host in app1 front1; do
			key /etc/resex/cluster.key
			printf '{ "cluster_file": "%s" }\n' "$1" >/tmp/cached.json
			resex-cached -c /tmp/cached.json -H $host --check | tee /tmp/said || true
		done
	fi
	checked_cluster "$1"
}

# A part of cluster.json: in one with two hosts. FILE KEY: a part of the object KEY, in one with two nodes.
# "..." in a page stands for two more nodes.
by_part_of_cluster() {
	local more='{ "name": "n3", "number": 2, "host": "xen1", "guest": "g3", "service": "web" },
		{ "name": "n4", "number": 2, "host": "xen2", "guest": "g4", "service": "mail" }'
	{
		echo '{ "cluster": "prod", "transport": "tcp", "key_file": "/etc/resex/cluster.key", "hosts": ['
		echo '{ "name": "xen1", "number": 1, "address": "10.0.0.1" }, { "name": "xen2", "number": 2, "address": "10.0.0.2" } ],'
		if [ $# = 1 ]; then
			awk -v more="$more" '{ sub(/^ *\.\.\. /, more); print }' "$1"
		else
			echo '"services": [ { "name": "web", "number": 1 }, { "name": "mail", "number": 2 } ],'
			echo "\"nodes\": [ ${more/\"n3\"/\"n3\", \"kind\": \"switch\"} ], \"$2\": {"
			cat "$1"
			echo '}'
		fi
		echo '}'
	} >/tmp/whole.json
	checked_cluster /tmp/whole.json
}

by_policy() { resex policy-check "$1"; }

by_scenario() { resexd --hv sim --scenario "$1" | jq -e '.guests | length > 0'; }

by_cached() { runuser -u resex-cached -- resex-cached -c "$1" -H "$2" --check; }

by_haproxy() { haproxy -c -f "$1"; }

by_compiler() { cc -Wall -Werror -c -o /tmp/example.o "$1"; }

# Statements, in a function; more.h has what they leave to the reader.
by_compiler_of_part() {
	{
		printf '%s\n' '#include <resex/cache.h>' '#include <resex/report.h>' '#include <errno.h>' '#include <stdio.h>' '#include <string.h>' \
			'const char *request_header(const char *); void response_header(const char *, const char *); void begin_transaction(void);' \
			'void make_page(void); void send_page(void); void tell_user(const char *); int f(struct resex_cache *, struct resex_report *);' \
			'int f(struct resex_cache *c, struct resex_report *r) { int rc; (void)c; (void)r;'
		cat "$1"
		echo 'return rc; }'
	} >/tmp/part.c
	by_compiler /tmp/part.c
}

# The program of nodes, for services of systemd.
by_role() {
	local s
	for s in web mail; do
		printf '[Service]\nExecStart=/bin/sleep infinity\n' >/run/systemd/system/$s.service
	done
	systemctl daemon-reload
	"$1" switch n1 - web && "$1" check n1 - web && "$1" switch n1 web mail && "$1" check n1 - mail && ! "$1" check n1 - web
	systemctl stop mail
}

# etc/examples/cache.c, by the command at its head. Without resex-cached it serves its page, and says why no more.
by_cache_example() {
	(cd $docs && eval "$(sed 's|^cc|cc -o /tmp/cache-example|' "$1")" && /tmp/cache-example | grep 'the page')
}

# The commands that two-hosts/run prints, each as it is printed.
by_two_hosts() {
	local command
	stays two $docs/two-hosts/run
	wait_for 40 sh -c 'journalctl -u world-two | grep -q "ends both"'
	journalctl -o cat -u world-two | sed -n 's/^  \([a-z].*\)/\1/p' | sed 's/   .*//' >/tmp/two-hosts
	grep -c . /tmp/two-hosts
	{
		echo 'shopt -s expand_aliases'
		while read -r command; do
			printf 'echo "> %s"\n%s || exit\n' "${command//\"/\'}" "$command"
			case $command in kill*) echo 'sleep 3' ;; esac
		done </tmp/two-hosts
	} >/tmp/two-hosts.sh
	bash /tmp/two-hosts.sh
}

case $1 in
by_*) "$@" ;;
*)
	as_first
	down
	"set_up_$1" "$@"
	;;
esac
