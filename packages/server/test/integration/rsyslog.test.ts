/** Log lines of clusters, taken by an implementation that is not ours: Debian's rsyslogd. Source: behaviour clustermgmt.md 1.11. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { clustermgmt, ids } from '../support/clustermgmt.ts'
import { startApp, type TestApp } from '../support/start-app.ts'
import { protocols, Rsyslogd } from './rsyslogd.ts'

async function anOperation(app: TestApp): Promise<string> {
  const answer = await app.call('POST', `${clustermgmt}/storage-containers`, {
    body: { name: `c-${randomUUID()}` },
    clusterId: ids.native,
    requestId: randomUUID(),
  })
  assert.equal((await app.task(answer)).status, 'SUCCEEDED')
  return answer.data.extId
}

test('rsyslogd parses the lines of a cluster over UDP, TCP and RELP, and gets the queued lines once and in order after its restart', async () => {
  const server = await Rsyslogd.start()
  const app = await startApp({ config: { allowAddress: ['127.0.0.0/8'] } })
  try {
    for (const networkProtocol of protocols) {
      const body = {
        ...{ serverName: networkProtocol, ipAddress: { ipv4: { value: '127.0.0.1' } }, networkProtocol },
        port: server.ports[networkProtocol],
        modules: [{ name: 'AUDIT', logSeverityLevel: 'INFO' }],
      }
      const path = `${clustermgmt}/clusters/${ids.native}/rsyslog-servers`
      const answer = await app.call('POST', path, { body, requestId: randomUUID() })
      assert.equal((await app.task(answer)).status, 'SUCCEEDED')
    }
    const first = await anOperation(app)
    for (const protocol of protocols) {
      const { priority, hostName, appName, id, data, text } = await server.received(protocol, new RegExp(first))
      assert.deepEqual([priority, hostName, appName, id], ['110', 'hp-native-01', 'AUDIT', 'createStorageContainer'])
      assert.match(data, /^\[hyperplane@32473 operation="clustermgmt\.createStorageContainer" status="202" /)
      assert.match(text.trim(), /^admin called clustermgmt\.createStorageContainer: 202\.$/)
    }

    await server.close()
    const meanwhile = [await anOperation(app), await anOperation(app)]
    await server.open()
    const last = await anOperation(app)
    for (const protocol of ['TCP', 'RELP'] as const) {
      await server.received(protocol, new RegExp(last))
      const tasks = server
        .messages()
        .filter((one) => one.protocol === protocol)
        .flatMap(({ data }) => /task="([^"]+)"/.exec(data)?.[1] ?? [])
      const expected = [first, ...meanwhile, last]
      assert.deepEqual(
        tasks.filter((task) => expected.includes(task)),
        expected,
      )
    }
  } finally {
    await app.close()
    await server.stop()
  }
})
