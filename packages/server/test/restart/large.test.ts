/** The largest of the presets, which takes longer to make than other tests may last. Source: how-to write-a-seed.md. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { startApp } from '../support/start-app.ts'

test('the tier large has 10 clusters, 160 hosts and 50,000 different VMs, equally many on each cluster', async () => {
  const app = await startApp({ config: { seed: 'large' } })
  try {
    const clusters = (await app.store.find(Cluster)).filter(({ name }) => name?.startsWith('large-'))
    assert.deepEqual([clusters.length, await app.store.count(Host), await app.store.count(Vm)], [10, 160, 50_000])
    const list = async (filter: string): Promise<number> =>
      (await app.call('GET', `/vmm/v4.2/ahv/config/vms?$limit=1&$filter=${filter}`)).total ?? 0
    for (const { extId, name } of clusters) assert.equal(await list(`cluster/extId eq '${extId}'`), 5000, name)
    assert.equal(await list("powerState eq Vmm.Ahv.Config.PowerState'ON'"), 2000)
    for (const numSockets of [1, 2, 4]) assert.ok((await list(`numSockets eq ${numSockets}`)) > 10_000)
    const page = await app.call('GET', '/vmm/v4.2/ahv/config/vms?$page=499&$limit=100')
    assert.deepEqual([page.status, page.data.length, page.total], [200, 100, 50_000])
  } finally {
    await app.close()
  }
})
