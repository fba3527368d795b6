/** Baseboard management controllers (BMC) of hosts. Source: specification 4.5; behaviour clustermgmt.md 1.13. */

import { BmcInfo, bmcInfoOperations } from '@hyperplane/contract/clustermgmt/bmc-info'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { type ApiError, invalid } from '../../core/api-error.ts'
import { sparselyUpdated } from '../../core/updates.ts'
import type { SecretReader } from '../../core/world.ts'
import type { Drivers } from '../../drivers/drivers.ts'
import type { BmcStatus } from '../../drivers/hardware.ts'
import type { Reader } from '../../store/store.ts'
import { defineTask, implement, parentOf, type ScheduleContext, taskAbout, together } from '../context.ts'
import { requireReachable } from '../registrations/reachability.ts'
import { addressInUse, usersOfAddresses } from './cluster-addresses.ts'

const probeEverySeconds = 5 * 60

interface Update {
  readonly bmc: BmcInfo
}

const warnings: Readonly<Partial<Record<BmcStatus, string>>> = {
  INVALID: 'The BMC refused the credential. It was stored all the same; send the right one.',
  UNAVAILABLE: 'The BMC did not answer. Address and credential were stored all the same.',
}

const updateBmc = defineTask<Update>({
  name: 'clustermgmt.update-bmc-info',
  steps: [
    {
      name: 'store',
      progress: 50,
      record: async (ctx, { bmc }) => {
        await ctx.store.replace(BmcInfo, bmc)
      },
      // No unrecord: the probe that follows cannot fail.
    },
    {
      name: 'probe the BMC',
      seconds: [1, 4],
      run: async (ctx, { bmc }) => probe(ctx, (await ctx.store.get(BmcInfo, bmc.extId)) ?? bmc),
      record: async (ctx, { bmc }, status: BmcStatus) => {
        await ctx.store.observe(BmcInfo, bmc.extId, { status })
        const warning = warnings[status]
        if (warning !== undefined) ctx.warn(warning)
      },
    },
  ],
})

export const bmcInfo = implement(
  bmcInfoOperations,
  {
    async updateBmcInfo(ctx, { body, path }) {
      const stored = ctx.target
      const address = body.ipAddress
      // Clients may send address and credential separately; absent fields keep their stored value.
      const bmc: BmcInfo = sparselyUpdated(stored, body, ['credential'])
      if (bmc.credential !== undefined && bmc.credential.password === undefined) {
        throw invalid('credential/password', 'is required: none is stored for this host')
      }
      const cluster = parentOf(ctx, 'clusterExtId', Cluster)
      requireReachable(ctx, cluster)
      await requireFreeAddress(ctx.store, stored, address?.ipv4?.value)
      const host = await ctx.store.get(Host, stored.extId)
      await ctx.store.touch(BmcInfo, stored.extId)
      const named = { extId: stored.extId, name: host?.hostName ?? '' }
      return ctx.startTask(updateBmc, { bmc }, taskAbout('Update BMC Info', Host, named, path.clusterExtId))
    },
  },
  {
    rules: { updateBmcInfo: ({ body }) => addressFaults(body) },
    tasks: [updateBmc],
    schedules: [
      {
        name: 'clustermgmt.probe-bmcs',
        everySeconds: probeEverySeconds,
        watch: ({ drivers, store }, changed) =>
          together(drivers.hardware.watch(changed), store.watch([BmcInfo], changed)),
        run: probeAll,
      },
    ],
  },
)

function addressFaults({ ipAddress, credential }: Partial<BmcInfo>): ApiError[] {
  if (ipAddress === undefined)
    return credential === undefined ? [invalid('$', 'expected ipAddress, credential or both; found neither')] : []
  const hasOne = ipAddress.ipv4 !== undefined || ipAddress.ipv6 !== undefined
  return hasOne ? [] : [invalid('ipAddress', 'expected ipv4 or ipv6, found neither')]
}

async function probeAll(ctx: ScheduleContext): Promise<void> {
  for (const bmc of await ctx.store.find(BmcInfo)) {
    const status = await probe(ctx, bmc)
    if (status === bmc.status) continue
    await ctx.store.transaction(async (transaction) => {
      const now = await transaction.row(BmcInfo, bmc.extId)
      // An update has changed the BMC during the probe; its task probes by itself.
      if (now !== undefined && now.entity.status === bmc.status)
        await transaction.observe(BmcInfo, bmc.extId, { status })
    })
  }
}

async function probe(
  ctx: { readonly drivers: Drivers; readonly secrets: SecretReader },
  bmc: BmcInfo,
): Promise<BmcStatus> {
  const address = bmc.ipAddress?.ipv4?.value ?? bmc.ipAddress?.ipv6?.value
  const password = ctx.secrets.open('BmcInfo', bmc.extId, 'credential/password', bmc.credential?.password)
  if (address === undefined) return 'UNAVAILABLE'
  return ctx.drivers.hardware.probeBmc({
    hostExtId: bmc.extId,
    address,
    username: bmc.credential?.username ?? '',
    password: password ?? '',
  })
}

async function requireFreeAddress(store: Reader, own: BmcInfo, address: string | undefined): Promise<void> {
  if (address === undefined) return
  const user = (await usersOfAddresses(store, { bmc: own.extId })).get(address)
  if (user !== undefined) throw addressInUse('ipAddress', address, user)
}
