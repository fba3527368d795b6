import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHyperplane } from '@hyperplane/server'

test('an API key of 60 days is refused after 90', async () => {
  await using hyperplane = await startHyperplane({ seed: 'tiny', clock: 'frozen', startTime: '2026-01-01T00:00:00Z' })
  const { iam } = hyperplane.client

  const { data: robot } = await iam.createUser({ body: { username: 'robot', userType: 'SERVICE_ACCOUNT' } })
  const path = { userExtId: robot.extId }
  const { data: key } = await iam.createUserKey({
    path,
    body: { name: 'nightly', keyType: 'API_KEY', expiryTime: '2026-03-02T00:00:00Z' },
  })
  const apiKey = key.keyDetails && 'apiKey' in key.keyDetails ? key.keyDetails.apiKey : undefined
  const asRobot = hyperplane.as({ apiKey })
  assert.equal((await asRobot.iam.listUserKeys({ path })).total, 1)

  const { data: moved } = await hyperplane.control.advanceClock({ body: { duration: 'P90D' } })
  assert.equal(moved.clock.time, '2026-04-01T00:00:00.000000Z')

  await assert.rejects(asRobot.iam.listUserKeys({ path }), { status: 401 })
  const { data: expired } = await iam.getUserKeyById({ path: { ...path, extId: key.extId } })
  assert.equal(expired.status, 'EXPIRED')
})
