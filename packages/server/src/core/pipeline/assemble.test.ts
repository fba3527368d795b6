import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assembleWorld, noTasks } from './assemble.ts'

const partsOf = (services: Parameters<typeof assembleWorld>[0]['services']) => ({
  owner: 'the test',
  tenantId: 't',
  clock: {} as never,
  ids: {} as never,
  drivers: undefined,
  secrets: { open: () => undefined },
  services,
})

test('a service that the world does not have is refused by its name', () => {
  const { services } = assembleWorld(partsOf({ tier: 'small' }))
  assert.equal(services.tier, 'small')
  assert.throws(() => services.snapshots, /^Error: the test has no service "snapshots"$/)
})

test('a handler that starts a task where there are none fails with the name of the pipeline', async () => {
  const startTask = noTasks('the test').starter({} as never, {} as never, () => undefined)
  await assert.rejects(startTask({} as never, undefined, {} as never), /^Error: the test has no tasks$/)
})
