/**
 * One path through all namespaces with the project's own client: node golden-path.ts URL PASSWORD.
 * The same story as clients/python/golden_path.py, in the specification's names.
 */
import assert from 'node:assert/strict'
import { createClient } from '@hyperplane/client'

/** @throws AssertionError where the service does not do what it should */
export async function goldenPath(url: string, password: string, say: (text: string) => void): Promise<void> {
  const client = createClient({ url, username: 'admin', password, pollMilliseconds: 30 })
  const { clustermgmt, iam, networking, platform, vmm, volumes } = client
  const run = crypto.randomUUID().slice(0, 8)
  const affected = (task: any, rel: string): string =>
    task.entitiesAffected.find((entity: any) => entity.rel === rel).extId
  const byId = (extId: string): { path: { extId: string } } => ({ path: { extId } })

  const { data: users } = await iam.listUsers({ filter: "username eq 'admin'" })
  assert.equal(users.length, 1)
  say('iam: the signed-in user is listed')

  const { data: clusters } = await clustermgmt.listClusters({
    filter: "config/clusterFunction/any(t:t eq Clustermgmt.Config.ClusterFunctionRef'AOS')",
  })
  const cluster = clusters[0]?.extId as string
  const host = async (extId: string): Promise<any> =>
    (await clustermgmt.getHostById({ path: { clusterExtId: cluster, extId } })).data
  const hosts = (await clustermgmt.listHostsByClusterId({ path: { clusterExtId: cluster } })).data
  const load = async (extId: string): Promise<number> => (await host(extId)).hypervisor?.numberOfVms ?? 0
  const before = new Map<string, number>()
  for (const { extId } of hosts) before.set(extId, await load(extId))
  say(`clustermgmt: the cluster with ${hosts.length} hosts`)

  const { data: category } = await platform.createCategory({ body: { key: 'golden', value: run } as never })
  const image = affected(
    await client.completed(
      await vmm.createImage({
        body: {
          name: `golden-${run}`,
          type: 'DISK_IMAGE',
          source: { $objectType: 'vmm.v4.content.UrlSource', url: `https://images.example.com/ubuntu-${run}.qcow2` },
        } as never,
      }),
    ),
    'vmm:content:image',
  )
  say('platform and vmm: a category, an image from a URL')

  const ip = (value: string): object => ({ value })
  const subnet = affected(
    await client.completed(
      await networking.createSubnet({
        body: {
          name: `golden-${run}`,
          subnetType: 'VLAN',
          networkId: 778,
          clusterReference: cluster,
          ipConfig: [
            {
              ipv4: {
                ipSubnet: { ip: ip('10.78.0.0'), prefixLength: 24 },
                defaultGatewayIp: ip('10.78.0.1'),
                poolList: [{ startIp: ip('10.78.0.50'), endIp: ip('10.78.0.99') }],
              },
            },
          ],
        } as never,
      }),
    ),
    'networking:config:subnet',
  )
  const free = async (): Promise<number> =>
    ((await networking.getSubnetById(byId(subnet))).data as any).ipUsage.numFreeIPs
  assert.equal(await free(), 50)
  say('networking: a VLAN subnet with a pool of 50')

  const vm = affected(
    await client.completed(
      await vmm.createVm({
        body: {
          name: `golden-${run}`,
          numSockets: 2,
          memorySizeBytes: 2 * 1024 ** 3,
          cluster: { extId: cluster },
          categories: [{ extId: category.extId }],
          disks: [
            {
              backingInfo: {
                $objectType: 'vmm.v4.ahv.config.VmDisk',
                dataSource: { reference: { $objectType: 'vmm.v4.ahv.config.ImageReference', imageExtId: image } },
              },
            },
          ],
          nics: [{ networkInfo: { subnet: { extId: subnet } } }],
        } as never,
      }),
    ),
    'vmm:ahv:config:vm',
  )
  const read = async (): Promise<{ data: any; etag: string }> => (await vmm.getVmById(byId(vm))) as never
  assert.equal((await read()).data.powerState, 'OFF')
  const counts = ((await platform.getCategoryById({ ...byId(category.extId), expand: 'associations' })).data as any)
    .associations
  assert.deepEqual(
    counts.map((entry: any) => [entry.resourceType, entry.count]),
    [['VM', 1]],
  )
  say('vmm: a VM with a disk cloned from the image; the category counts it')

  const progress: number[] = []
  await client.completed(await vmm.powerOnVm({ ...byId(vm), ifMatch: (await read()).etag }), (task) =>
    progress.push(task.progressPercentage as number),
  )
  assert.deepEqual(
    progress,
    [...progress].sort((a, b) => a - b),
  )
  const running = (await read()).data
  assert.equal(running.powerState, 'ON')
  assert.equal(await load(running.host.extId), (before.get(running.host.extId) as number) + 1)
  assert.equal(running.nics[0].networkInfo.ipv4Config.ipAddress.value, '10.78.0.50')
  assert.equal(await free(), 49)
  say('vmm: powered on, placed on a host whose load rose, with an address of the pool')

  const span = { $startTime: new Date(Date.now() - 3600_000).toISOString(), $endTime: new Date().toISOString() }
  const demo = (await vmm.listVms({ filter: "name eq 'web-01'" })).data[0]?.extId as string
  const points = ((await vmm.getVmStatsById({ ...byId(demo), query: span })).data as any).stats
  assert.ok(new Set(points.map((point: any) => point.hypervisorCpuUsagePpm)).size > 5)
  say('vmm: statistics move')

  const group = affected(
    await client.completed(
      await volumes.createVolumeGroup({ body: { name: `golden-${run}`, clusterReference: cluster } as never }),
    ),
    'volumes:config:volume-group',
  )
  await client.completed(await volumes.attachVm({ ...byId(group), body: { extId: vm } as never }))
  const { total } = await volumes.listVmAttachmentsByVolumeGroupId({ path: { volumeGroupExtId: group } })
  assert.equal(total, 1)
  say('volumes: a volume group attached to the running VM')

  const submitted = await platform.submitBatch({
    body: {
      metadata: { action: 'CREATE', name: `golden-${run}`, uri: '/api/platform/v4.3/config/categories', chunkSize: 50 },
      payload: Array.from({ length: 100 }, (_, index) => ({ data: { key: `golden-${run}`, value: String(index) } })),
    } as never,
  })
  await client.completed(submitted)
  const made = await platform.listCategories({ filter: `key eq 'golden-${run}'`, limit: 100 })
  assert.equal(made.total, 100)
  const removal = await platform.submitBatch({
    body: {
      metadata: {
        action: 'DELETE',
        name: `golden-${run}-removal`,
        uri: '/api/platform/v4.3/config/categories/{extId}',
        chunkSize: 50,
      },
      payload: made.data.map((entry) => ({ metadata: { path: [{ name: 'extId', value: entry.extId }] } })),
    } as never,
  })
  await client.completed(removal)
  assert.equal((await platform.listCategories({ filter: `key eq 'golden-${run}'` })).total, 0)
  say('platform: a batch made 100 categories, another removed them')

  await client.completed(await volumes.detachVm({ ...byId(group), body: { extId: vm } as never }))
  await client.completed(await volumes.deleteVolumeGroupById(byId(group)))
  await client.completed(await vmm.powerOffVm({ ...byId(vm), ifMatch: (await read()).etag }))
  await client.completed(await vmm.deleteVmById({ ...byId(vm), ifMatch: (await read()).etag }))
  assert.equal(await free(), 50)
  for (const { extId } of hosts) assert.equal(await load(extId), before.get(extId))
  assert.equal(
    ((await platform.getCategoryById({ ...byId(category.extId), expand: 'associations' })).data as any).associations,
    undefined,
  )
  await client.completed(await networking.deleteSubnetById(byId(subnet)))
  await client.completed(await vmm.deleteImageById(byId(image)))
  await platform.deleteCategoryById(byId(category.extId))
  say('pools, loads and association counts are what they were before')
}

if (process.argv[1] === import.meta.filename) {
  // Only its own authority vouches for the certificate; this program talks to loopback only.
  await goldenPath(process.argv[2] as string, process.argv[3] as string, (text) => console.log(`ok - ${text}`))
  console.log('1 passed, 0 failed')
}
