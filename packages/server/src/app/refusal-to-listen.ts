import { reasonOf, StartRefusal } from '../core/start-refusal.ts'
import { diskFault } from '../store/disk-fault.ts'

export function refusalToListen(error: unknown, host: string, port: number): unknown {
  const code = reasonOf(error)
  if (code === 'EADDRINUSE') {
    return new StartRefusal(
      `Port ${port} on ${host} is taken: stop what listens there, or choose another with --port (0 for a free one).`,
    )
  }
  if (code === 'EACCES') {
    return new StartRefusal(`This user may not listen on port ${port} of ${host}: choose one from 1024 on with --port.`)
  }
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    return new StartRefusal(`${host} is no address of this machine: give an address of this machine with --host.`)
  }
  const fault = diskFault(error)
  if (fault !== undefined) return new StartRefusal(`${fault} Free room on it, then start again.`, { cause: error })
  return error
}
