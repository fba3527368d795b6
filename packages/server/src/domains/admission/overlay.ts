/** Which subnets are overlay networks of a VPC, where a request is judged before its kind is. Source: behaviour networking.md 1.2. */
import type { Resource } from '@hyperplane/contract'
import { Subnet } from '@hyperplane/contract/networking/subnet'

/** `subjects`: the body of a request, and its target. */
export const isOverlaySubnet = (resource: Resource | undefined, ...subjects: readonly unknown[]): boolean =>
  resource?.kind === Subnet.kind &&
  subjects.some((subject) => (subject as { subnetType?: string } | undefined)?.subnetType === 'OVERLAY')
