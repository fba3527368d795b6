import { namespace } from '../operation.ts'
import { AddressLease, AddressRun, AddressTally } from './address-lease.ts'
import { awsSubnetOperations } from './aws-subnet.ts'
import { bgpRouteOperations } from './bgp-route.ts'
import { bgpSessionOperations } from './bgp-session.ts'
import { networkingErrors } from './errors.ts'
import { floatingIpOperations } from './floating-ip.ts'
import { Gateway } from './gateway.ts'
import { networkControllerOperations } from './network-controller.ts'
import { reservedIpOperations } from './reserved-ip.ts'
import { routeOperations } from './route.ts'
import { routeTableOperations } from './route-table.ts'
import { routingPolicyOperations } from './routing-policy.ts'
import { subnetOperations } from './subnet.ts'
import { unimplemented } from './unimplemented.ts'
import { virtualSwitchOperations } from './virtual-switch.ts'
import { vnicOperations } from './vnic.ts'
import { vpcOperations } from './vpc.ts'

export const networking = namespace({
  name: 'networking',
  versions: ['v4.3'],
  label: '1.0.0',
  kinds: {
    'aws-subnet': awsSubnetOperations,
    'bgp-route': bgpRouteOperations,
    'bgp-session': bgpSessionOperations,
    'floating-ip': floatingIpOperations,
    'network-controller': networkControllerOperations,
    'reserved-ip': reservedIpOperations,
    route: routeOperations,
    'route-table': routeTableOperations,
    'routing-policy': routingPolicyOperations,
    subnet: subnetOperations,
    'virtual-switch': virtualSwitchOperations,
    vnic: vnicOperations,
    vpc: vpcOperations,
  },
  resources: [AddressLease, AddressRun, AddressTally, Gateway],
  taskEnvelope: 'TaskReferenceApiResponse',
  unimplemented,
  errors: networkingErrors,
})
