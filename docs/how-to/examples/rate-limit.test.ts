import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiRefusal, type Client, startHyperplane } from '@hyperplane/server'

/** Code under test: a client that asks until it is refused, and reads how long it has to wait. */
async function askTooOften({ vmm }: Client): Promise<{ answered: number; waitSeconds: number }> {
  for (let answered = 0; ; answered++) {
    try {
      await vmm.listVms()
    } catch (error) {
      if (!(error instanceof ApiRefusal) || error.status !== 429) throw error
      return { answered, waitSeconds: Number(error.headers.get('retry-after')) }
    }
  }
}

test('a client that waits as long as Retry-After says is answered again', async () => {
  await using hyperplane = await startHyperplane({
    seed: 'tiny',
    rateLimits: 'on',
    // The rate windows follow a frozen clock, so the second does not end on a slow machine either.
    limits: 'world-clock',
    clock: 'frozen',
  })
  const { client, control } = hyperplane

  const { answered, waitSeconds } = await askTooOften(client)
  assert.equal(answered, 10)

  await control.advanceClock({ body: { duration: `PT${waitSeconds}S` } })
  assert.equal((await client.vmm.listVms()).status, 200)
})
