/** Explains whether a packet arrives. The driver finds the way, the store has the names. */
import type { ValueOf } from '@hyperplane/contract'
import { networkOperations, type TraceRequest } from '@hyperplane/contract/control/network'
import { Vpc } from '@hyperplane/contract/networking/vpc'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { type ApiError, invalid } from '../../core/api-error.ts'
import { defined } from '../../core/defined.ts'
import { notAHost, parseHost } from '../../core/ip-address.ts'
import { MacLease } from '../../domains/virtual-machines/mac-lease.ts'
import type { TraceEnd, TraceHop } from '../../drivers/reachability.ts'
import type { Instance } from '../../instance/instance.ts'
import { findNamed } from '../../simulation/targets.ts'
import type { Reader } from '../../store/store.ts'
import { implementWithinWorld } from '../context.ts'

type Body = ValueOf<typeof TraceRequest>
type End = Body['source']

const clientPort = 50_000

export const network = implementWithinWorld(
  networkOperations,
  {
    async traceNetwork(ctx, { body }) {
      const instance = await ctx.drivers.instance()
      const { protocol = 'TCP', destinationPort, sourcePort = clientPort } = body
      const { outcome, reason, hops } = await instance.drivers.networkFabric.trace({
        source: await endOf(instance, body.source, 'source'),
        destination: await endOf(instance, body.destination, 'destination'),
        protocol,
        ...(protocol === 'ICMP' ? {} : defined({ sourcePort, destinationPort })),
      })
      return { outcome, reason, hops: await Promise.all(hops.map((hop) => withName(instance.store, hop))) }
    },
  },
  {
    rules: {
      traceNetwork: ({ body }) => [
        ...endFaults(body.source, 'source'),
        ...endFaults(body.destination, 'destination'),
        ...portFaults(body),
      ],
    },
  },
)

function endFaults({ vm, nicExtId, address, vpc }: End, path: string): ApiError[] {
  const faults: ApiError[] = []
  const isNic = vm !== undefined || nicExtId !== undefined
  if (vm !== undefined && nicExtId !== undefined)
    faults.push(invalid(`${path}/nicExtId`, 'expected a VM or a NIC, found both'))
  if (!isNic && address === undefined) faults.push(invalid(path, 'expected a VM, a NIC or an address, found none'))
  if (isNic && vpc !== undefined) faults.push(invalid(`${path}/vpc`, 'expected it only with an address without a NIC'))
  const host = address === undefined ? undefined : parseHost(address)
  const fault = host === undefined ? 'no IPv4 or IPv6 address' : notAHost(host)
  if (address !== undefined && fault !== undefined)
    faults.push(invalid(`${path}/address`, `expected the address of a host, found ${address}: ${fault}`))
  return faults
}

function portFaults({ protocol = 'TCP', sourcePort, destinationPort }: Body): ApiError[] {
  if (protocol !== 'ICMP')
    return destinationPort === undefined
      ? [invalid('destinationPort', `expected one, because the protocol is ${protocol}`)]
      : []
  return Object.entries({ sourcePort, destinationPort }).flatMap(([name, port]) =>
    port === undefined ? [] : [invalid(name, 'expected none, because ICMP has no ports')],
  )
}

/** @throws ApiError 404 with the nearest names, 400 */
async function endOf(instance: Instance, { vm, nicExtId, address, vpc }: End, path: string): Promise<TraceEnd> {
  if (vm !== undefined) {
    const { extId } = await findNamed(instance, Vm, { text: vm, attributePath: `${path}/vm` })
    const [nic] = (await instance.store.get(Vm, extId))?.nics ?? []
    if (nic === undefined) throw invalid(`${path}/vm`, `expected a VM with a NIC: ${vm} has none`)
    return defined({ nicExtId: nic.extId, address })
  }
  if (nicExtId !== undefined) {
    if ((await instance.store.findOne(MacLease, { nicExtId })) === undefined)
      throw invalid(`${path}/nicExtId`, 'expected the id of a NIC of a VM in this world')
    return defined({ nicExtId, address })
  }
  if (vpc === undefined) return defined({ address })
  return defined({
    address,
    vpcExtId: (await findNamed(instance, Vpc, { text: vpc, attributePath: `${path}/vpc` })).extId,
  })
}

async function withName(store: Reader, { entity, ...hop }: TraceHop) {
  if (entity === undefined) return hop
  const name = entity.kind === 'Nic' ? await nameOfNic(store, entity.extId) : await nameOf(store, entity)
  return { ...hop, entity: { ...entity, ...(name !== undefined && { name }) } }
}

async function nameOf(store: Reader, { kind, extId }: NonNullable<TraceHop['entity']>): Promise<string | undefined> {
  const resource = store.kinds.find((each) => each.kind === kind)
  const row = resource && (await store.get(resource, extId))
  return (row as { readonly name?: string } | undefined)?.name
}

async function nameOfNic(store: Reader, nicExtId: string): Promise<string | undefined> {
  const lease = await store.findOne(MacLease, { nicExtId })
  return lease && (await store.get(Vm, lease.vmExtId))?.name
}
