import { Subnet } from '@hyperplane/contract/networking/subnet'
import { defined } from '../../core/defined.ts'
import { seedId } from '../../core/ids/named-id.ts'
import { writeAddress } from '../../core/ip-address.ts'
import type { SubnetEntity } from '../../domains/addressing/address-plan.ts'
import type { VmEntity } from '../../domains/virtual-machines/entity.ts'
import { seedHealthy } from '../demo/balancers.ts'
import type { Declared, DeclaredOf } from '../format.ts'
import { addressIn } from '../readable.ts'
import type { Filling } from './filling.ts'
import { portsOf } from './routing.ts'

type DeclaredBalancer = DeclaredOf<'loadBalancerSessions'>

export const fillBalancers = (filling: Filling, sessions: Declared['loadBalancerSessions']): Promise<void> =>
  filling.each('loadBalancerSessions', sessions, async (item, path) => {
    const { name, extId = seedId(`load-balancer-session/${item.vpc}/${item.name}`), description = '' } = item
    const [vpc, subnet, targetsConfig] = await filling.all([
      () => filling.vpc(item.vpc, `${path}.vpc`),
      () => filling.subnet(item.subnet, `${path}.subnet`),
      () => targetsOf(filling, item, path),
    ])
    const ipAddress = item.ipAddress && writeAddress(addressIn(item.ipAddress, `${path}.ipAddress`, filling))
    await filling.perform(path, 'networking.createLoadBalancerSession', {
      called: `load-balancer-session/${item.vpc}/${name}`,
      extId,
      body: {
        name,
        description,
        vpcReference: vpc.extId,
        listener: {
          protocol: item.protocol,
          portRanges: item.portRanges.map(portsOf),
          virtualIP: defined({
            assignmentType: ipAddress === undefined ? 'DYNAMIC' : 'STATIC',
            ipAddress,
            subnetReference: subnet.extId,
          }),
        },
        healthCheckConfig: item.healthCheckConfig ?? {},
        targetsConfig,
      },
    })
    await seedHealthy(filling.ctx, extId)
  })

async function targetsOf(filling: Filling, item: DeclaredBalancer, path: string): Promise<object> {
  const { vms = [], categories, targetPort } = item
  const vpc = await filling.vpc(item.vpc, `${path}.vpc`)
  const inVpc = await filling.ctx.store.findWhere(Subnet, { vpcReference: vpc.extId })
  const machines = await filling.all(vms.map((vm, index) => () => filling.vm(vm, `${path}.vms[${index}]`)))
  const nicTargets = machines.map((vm, index) =>
    defined({ virtualNicReference: nicIn(filling, vm, inVpc, `${path}.vms[${index}]`), port: targetPort }),
  )
  const matchAll = (await filling.categories(categories, `${path}.categories`)).map((extId) => ({ extId }))
  const port = targetPort ?? portsOf(item.portRanges[0]!).startPort
  return {
    ...(nicTargets.length > 0 && { nicTargets }),
    ...(matchAll.length > 0 && { categoryTargets: [{ matchAll, port }] }),
  }
}

function nicIn(
  filling: Filling,
  { name, nics = [] }: VmEntity,
  subnets: readonly SubnetEntity[],
  path: string,
): string {
  const nic = nics.find(({ networkInfo }) => subnets.some(({ extId }) => extId === networkInfo?.subnet?.extId))
  return nic?.extId ?? filling.refuse(path, `the VM ${name} has no NIC in the VPC`)
}
