/** Makes a fixed sequence of calls and prints one line per answer. */
import { startHyperplane } from '../../src/index.ts'

const password = 'The.Same-Passw0rd'
await using hyperplane = await startHyperplane({
  seed: 'demo',
  clock: 'frozen',
  startTime: '2026-03-02T09:00:00Z',
  adminPassword: password,
})
const world = '/control/v1/worlds/default'
let requests = 0

async function call(method: string, path: string, body?: unknown, more: Record<string, string> = {}): Promise<any> {
  const answer = await fetch(hyperplane.url + path, {
    method,
    headers: {
      Authorization: `Basic ${Buffer.from(`admin:${password}`).toString('base64')}`,
      'SVC-Request-Id': `00000000-0000-4000-8000-${String(++requests).padStart(12, '0')}`,
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...more,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  // The port is random. Sealed secrets differ, and with them the size of backups by some bytes.
  const told = text
    .replaceAll(`:${new URL(hyperplane.url).port}`, ':PORT')
    .replace(/"lastSizeBytes":\d+/g, '"lastSizeBytes":SIZE')
  // The control interface has the time of the machine, and tags of its own.
  const isOfWorld = path.startsWith('/api/')
  const seen = isOfWorld || method === 'GET' ? told : told.replace(/"(realTime|createTime)":"[^"]+"/g, '"$1":"REAL"')
  const head = isOfWorld ? `${answer.headers.get('etag')} ${answer.headers.get('date')}` : ''
  console.log(`${method} ${path} ${answer.status} ${head} ${seen}`)
  return { json: text.startsWith('{') ? JSON.parse(text) : undefined, etag: answer.headers.get('etag') }
}
const advance = (duration: string) => call('POST', `${world}/clock/$actions/advance`, { duration })
const dataOf = async (method: string, path: string, body?: unknown) => (await call(method, path, body)).json.data

const vms = '/api/vmm/v4.2/ahv/config/vms'
const [cluster] = await dataOf(
  'GET',
  "/api/clustermgmt/v4.2/config/clusters?$filter=startswith(name,'hp-native')&$limit=1",
)
const [subnet] = await dataOf(
  'GET',
  `/api/networking/v4.3/config/subnets?$filter=subnetType eq 'VLAN' and isExternal eq false and clusterReference eq '${cluster.extId}'`,
)
const nics = [{ networkInfo: { subnet: { extId: subnet.extId } } }]
const made: string[] = []
for (let index = 0; index < 8; index++) {
  const body = { name: `same-${index}`, memorySizeBytes: 2 ** 30, cluster: { extId: cluster.extId }, nics }
  const { extId } = await dataOf('POST', vms, body)
  // Without a pause, so that the work of the task has a fixed place in the order.
  const task = await dataOf('GET', `/api/platform/v4.3/config/tasks/${extId}`)
  made.push(task.entitiesAffected[0].extId)
}
await advance('PT1M')
for (const extId of made.slice(0, 4)) {
  const { etag } = await call('GET', `${vms}/${extId}`)
  await call('POST', `${vms}/${extId}/$actions/power-on`, undefined, { 'If-Match': etag ?? '' })
}
await advance('PT1H')
for (const extId of made) await call('GET', `${vms}/${extId}`)
const from = encodeURIComponent('2026-03-02T09:05:00Z')
const to = encodeURIComponent('2026-03-02T10:00:00Z')
for (const extId of made.slice(0, 2))
  await call(
    'GET',
    `/api/vmm/v4.2/ahv/stats/vms/${extId}?$startTime=${from}&$endTime=${to}&$samplingInterval=300&$select=*`,
  )
await call('POST', '/api/platform/v4.3/operations/$actions/batch', {
  metadata: { action: 'CREATE', name: 'same', uri: '/api/platform/v4.3/config/categories', chunkSize: 3 },
  payload: Array.from({ length: 7 }, (_, index) => ({ data: { key: 'same', value: `v${index}` } })),
})
await advance('PT10M')
await call('GET', "/api/platform/v4.3/config/categories?$filter=key eq 'same'")
await call('GET', '/api/platform/v4.3/config/tasks?$limit=100')
await call('GET', '/api/platform/v4.3/config/categories', undefined, { Authorization: 'Basic bm9ib2R5OndlYWs=' })
await call('GET', `${vms}/${made[0]}/nothing`)
// Faults are random, and the world fails at its own times.
await call('POST', `${world}/faults`, {
  match: { operation: 'platform.createCategory' },
  trigger: { probability: 0.5 },
  effect: { error: 'SERVICE_UNAVAILABLE', arguments: { fault: 'By chance.' } },
})
for (let index = 0; index < 12; index++)
  await call('POST', '/api/platform/v4.3/config/categories', { key: 'chance', value: `v${index}` })
const [host] = await dataOf('GET', `/api/clustermgmt/v4.2/config/clusters/${cluster.extId}/hosts?$limit=1`)
await call('POST', `${world}/events`, { event: { type: 'HOST_FAILS', host: host.hostName }, duration: 'PT30M' })
await advance('PT10M')
await call('GET', `${vms}?$limit=100`)
await advance('PT1H')
await call('GET', `${vms}?$limit=100`)
await advance('P2D')
await call('GET', '/api/platform/v4.3/config/tasks?$limit=100')
await call('POST', '/control/v1/worlds', {
  name: 'second',
  preset: 'tiny',
  clock: { mode: 'frozen', startTime: '2026-01-01T00:00:00Z' },
})
await call('GET', '/api/vmm/v4.2/ahv/config/vms', undefined, { 'X-World': 'second' })
await call('POST', '/control/v1/worlds/second/$actions/reset')
await call('POST', '/api/platform/v4.3/config/categories', { key: 'again', value: 'same' }, { 'X-World': 'second' })
await call('GET', `${world}/journal/calls?$limit=100&$orderby=sequence`)
await call('GET', `${world}/seed`)
