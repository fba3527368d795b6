import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiRefusal, type Client, startHyperplane } from '@hyperplane/server'

/** What is tested here: a client that asks until it is refused, and says how long it was told to wait. */
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

test('whoever waits as long as it is told is answered again', async () => {
  await using hyperplane = await startHyperplane({
    seed: 'tiny',
    rateLimits: 'on',
    // The windows follow a clock that stands: however slow this machine is, the second does not end by itself.
    limits: 'world-clock',
    clock: 'frozen',
  })
  const { client, control } = hyperplane

  const { answered, waitSeconds } = await askTooOften(client)
  assert.equal(answered, 10)

  await control.advanceClock({ body: { duration: `PT${waitSeconds}S` } })
  assert.equal((await client.vmm.listVms()).status, 200)
})
