import { getCACertificates } from 'node:tls'

let cached: readonly string[] | undefined

/** Authorities of Node and of this machine, PEM: those of private servers are often installed on the machine only. */
export const machineAuthorities = (): string[] => {
  cached ??= [...new Set([...getCACertificates('default'), ...getCACertificates('system')])]
  return [...cached]
}
