package stack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// startRocketMQ starts the name server and one broker together: a port that
// somebody else took means drawing both anew.
func (s *Stack) startRocketMQ(ctx context.Context) error {
	lib, err := jars(ctx, s.options.Log)
	if err != nil {
		return err
	}
	return onPort(ctx, "rocketmq's name server", s.options.Ports.Namesrv, nil, func(namesrv int) error {
		return onPort(ctx, "rocketmq's broker", s.options.Ports.Broker, []int{-2, 1}, func(broker int) error {
			if err := s.rocketMQ(lib, namesrv, broker); err != nil {
				return err
			}
			// One after the other: a broker that finds no name server tries
			// again only 10 s later.
			if err := s.Namesrv.Start(ctx); err != nil {
				return err
			}
			if err := s.Broker.Start(ctx); err != nil {
				return errors.Join(err, s.Namesrv.Kill())
			}
			return edit(s.Dir, func(d *Description) error {
				d.RocketMQ, d.RocketMQBroker = "http://"+address(namesrv), address(broker)
				return nil
			})
		})
	})
}

// rocketMQ writes the configuration and describes the two processes.
func (s *Stack) rocketMQ(lib string, namesrv, broker int) error {
	dir := filepath.Join(s.Dir, "rocketmq")
	// The brokers of two stacks differ in name, so that one never passes for the other.
	name, err := secret(s.Dir, "rocketmq", "broker-name")
	if err != nil {
		return err
	}
	files := map[string]string{
		"namesrv.conf": fmt.Sprintf("listenPort=%d\nbindAddress=%s\n", namesrv, host),
		"broker.conf":  brokerConf(dir, name, s.options.BrokerIP, namesrv, broker, s.options.FlushDisk),
		"logback.xml":  logback,
	}
	for _, home := range []string{"namesrv", "broker"} {
		if err := os.MkdirAll(filepath.Join(dir, home), 0o700); err != nil {
			return err
		}
	}
	for file, text := range files {
		if err := replaceFile(filepath.Join(dir, file), []byte(text)); err != nil {
			return fmt.Errorf("stack: configure rocketmq: %w", err)
		}
	}
	java, err := find("java")
	if err != nil {
		return err
	}
	s.Namesrv, err = s.server(Process{
		Name: "namesrv", Program: java, Dir: dir, Addr: address(namesrv),
		Env: []string{"ROCKETMQ_HOME=" + filepath.Join(dir, "namesrv")},
		Args: javaArgs(dir, "namesrv", lib, []string{"-Xms64m", "-Xmx128m", "-XX:TieredStopAtLevel=1"},
			"org.apache.rocketmq.namesrv.NamesrvStartup"),
		Ready: func(ctx context.Context) error {
			return namesrvAnswers(ctx, address(namesrv), filepath.Join(dir, "namesrv"))
		},
	})
	if err != nil {
		return err
	}
	s.Broker, err = s.server(Process{
		Name: "broker", Program: java, Dir: dir, Addr: address(broker),
		Env: []string{"ROCKETMQ_HOME=" + filepath.Join(dir, "broker")},
		Args: javaArgs(dir, "broker", lib, []string{"-XX:TieredStopAtLevel=1", "-Xms256m", "-Xmx512m", "-XX:MaxDirectMemorySize=512m",
			// At nearly full it deletes even what nobody has read yet: as late as can be.
			"-Drocketmq.broker.diskSpaceCleanForciblyRatio=0.98",
			"-Drocketmq.broker.diskSpaceWarningLevelRatio=0.99",
		}, "org.apache.rocketmq.broker.BrokerStartup"),
		// Asked to end it takes 17 s, most of them waiting for its own threads.
		// Killed it loses nothing: messages are in the page cache, consumer
		// offsets were written within the last second.
		Grace: 5 * time.Second,
		Ready: func(ctx context.Context) error {
			return brokerReady(ctx, address(namesrv), name, address(broker), fmt.Sprintf("%s:%d", s.options.BrokerIP, broker))
		},
	})
	return err
}

// javaArgs: user.home moves every file RocketMQ would write into the real home.
// TLS is off, on loopback: without that each start makes a key pair, for two seconds.
func javaArgs(dir, home, lib string, size []string, class string) []string {
	args := append(size, "-XX:+UseSerialGC",
		"-Duser.home="+filepath.Join(dir, home),
		"-Drmq.logback.configurationFile="+filepath.Join(dir, "logback.xml"),
		"-Dtls.server.mode=disabled", "-Dtls.enable=false",
		"--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",
		"--add-exports=java.base/sun.nio.ch=ALL-UNNAMED",
		"--add-opens=java.base/java.nio=ALL-UNNAMED")
	return append(args, "-cp", filepath.Join(lib, "*"), class, "-c", filepath.Join(dir, home+".conf"))
}

func brokerConf(dir, name, announced string, namesrv, port int, flush string) string {
	return fmt.Sprintf(`brokerClusterName=vendline
brokerName=%s
brokerId=0
brokerIP1=%s
brokerIP2=127.0.0.1
bindAddress=127.0.0.1
listenPort=%d
haListenPort=%d
namesrvAddr=127.0.0.1:%d
registerNameServerPeriod=10000
storePathRootDir=%s/broker/store
flushDiskType=%s
timerWheelEnable=true
autoCreateTopicEnable=true
defaultTopicQueueNums=4
flushConsumerOffsetInterval=1000
mappedFileSizeCommitLog=67108864
# Flushing the timer wheel compares 19 MB byte by byte; every second that is a
# tenth of a core. After a crash the wheel is built again from the timer log.
timerFlushIntervalMs=60000
timerProgressLogIntervalMs=60000
# A machine whose disk is nearly full is still good for a test.
diskMaxUsedSpaceRatio=95
# A busy machine may make a sender wait; that is no reason to refuse it.
waitTimeMillsInSendQueue=5000
osPageCacheBusyTimeOutMills=5000
`, name, announced, port, port+1, namesrv, dir, flush)
}

const logback = `<configuration>
  <appender name="out" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%d{yyyy-MM-dd'T'HH:mm:ss.SSS} %-5level %logger{20} %msg%n</pattern></encoder>
  </appender>
  <root level="WARN"><appender-ref ref="out"/></root>
</configuration>
`
