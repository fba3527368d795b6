import assert from 'node:assert/strict'
import { test } from 'node:test'
import { OwnPorts } from './own-ports.ts'

function aServer() {
  const open = new Set<number>()
  return {
    open,
    async listenFor(_world: string, port: number) {
      open.add(port)
      return port
    },
    unlisten: (port: number) => void open.delete(port),
  }
}

test('of two ports that are opened for a world concurrently, the one that is committed last stays', async () => {
  const ports = new OwnPorts(() => undefined)
  const server = aServer()
  ports.listening(server)
  const opened = await Promise.all([ports.open('lab', 9501), ports.open('lab', 9502)])
  for (const each of opened) each.commit()
  assert.equal(ports.of('lab'), 9502)
  assert.deepEqual([...server.open], [9502])
})

test('rolling back a port leaves the previous one open', async () => {
  const ports = new OwnPorts(() => undefined)
  const server = aServer()
  ports.listening(server)
  const first = await ports.open('lab', 9501)
  first.commit()
  const second = await ports.open('lab', 9502)
  second.rollback()
  assert.equal(ports.of('lab'), 9501)
  assert.deepEqual([...server.open], [9501])
})
