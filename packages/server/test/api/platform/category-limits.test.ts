/** How many categories there may be, with lower limits than those that hold. Source: behaviour platform.md 1 (limits). */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { Category } from '@hyperplane/contract/platform/category'
import { limits } from '../../../src/domains/collected.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'

const categories = '/platform/v4.3/config/categories'
const maximum = 8
const maximumOfKey = 3

let app: TestApp
/** Those that every world has. */
let given: number
before(async () => {
  const counted = await startApp({ config: { seed: 'empty' } })
  given = await counted.store.count(Category)
  await counted.close()
  const lowered = { categories: given + maximum, valuesOfCategoryKey: maximumOfKey }
  app = await startApp({ config: { seed: 'empty' }, limits: lowered })
})
after(() => app.close())

const create = (key: string, value: string = randomUUID()) => app.call('POST', categories, { body: { key, value } })
const remove = (extId: string) => app.call('DELETE', `${categories}/${extId}`)
const ofStatus = (answers: readonly { status: number }[], status: number): number =>
  answers.filter((answer) => answer.status === status).length

test('the enforced limits of categories are the documented ones', () => {
  assert.deepEqual(
    [limits.categories, limits.valuesOfCategoryKey, limits.associationsOfCategory],
    [20_000, 1000, 100_000],
  )
})

test('of ten concurrent values a key accepts as many as its limit, and a deletion makes room for another', async () => {
  const answers = await Promise.all(Array.from({ length: 10 }, () => create('Full')))
  assert.deepEqual([ofStatus(answers, 201), ofStatus(answers, 422)], [maximumOfKey, 10 - maximumOfKey])
  const refused = answers.find(({ status }) => status === 422)
  assert.deepEqual([refused?.errors[0]?.code, refused?.errors[0]?.errorGroup], ['PLAT-10014', 'LIMIT_EXCEEDED'])
  assert.match(refused?.errors[0]?.message ?? '', /"Full".*at most 3, found 4/)

  const [made, other] = answers.filter(({ status }) => status === 201)
  const body = { key: 'Full', value: 'renamed' }
  const changed = await app.call('PUT', `${categories}/${made?.data.extId}`, { body, ifMatch: made?.etag as string })
  assert.equal(changed.status, 200, 'a value that changes is none more')
  assert.equal((await remove(other?.data.extId)).status, 204)
  assert.deepEqual([(await create('Full')).status, (await create('Full')).status], [201, 422])
})

test('a batch creates categories up to the limit; a delete makes room for one', async () => {
  const room = maximum - maximumOfKey
  const payload = Array.from({ length: 10 }, (_, index) => ({ data: { key: `Key${index}`, value: 'a' } }))
  const metadata = { action: 'CREATE', name: 'too many', uri: `/api${categories}`, chunkSize: 4 }
  const submit = '/platform/v4.3/operations/$actions/batch'
  const task = await app.task(await app.call('POST', submit, { requestId: randomUUID(), body: { metadata, payload } }))
  assert.deepEqual(task.batchSummary, {
    numberOfJobs: 10,
    numberOfJobsSuccessful: room,
    numberOfJobsFailed: 10 - room,
  })
  assert.equal((await app.call('GET', categories)).total, given + maximum)
  const refused = await create('Beyond')
  assert.deepEqual([refused.status, refused.errors[0]?.errorGroup], [422, 'LIMIT_EXCEEDED'])
  assert.match(refused.errors[0]?.message ?? '', new RegExp(`at most ${given + maximum}, found ${given + maximum + 1}`))

  const [one] = await app.store.findWhere(Category, { value: 'a' })
  assert.equal((await remove(one?.extId as string)).status, 204)
  assert.deepEqual([(await create('After')).status, (await create('Beyond')).status], [201, 422])
})
