"""Tasks that run a known number of times; many short ones follow on each other's memory."""
import asyncio


async def first():
    await asyncio.sleep(0)
    await asyncio.sleep(0)


async def second():
    await asyncio.sleep(0)


async def short():
    pass


async def main():
    await asyncio.gather(named(first(), "one"), named(second(), "two"))
    for number in range(200):
        task = named(short(), "t%d" % number)
        while not task.done():
            await asyncio.sleep(0)


def named(coroutine, name):
    task = asyncio.get_running_loop().create_task(coroutine)
    task.set_name(name)
    return task


loop = asyncio.new_event_loop()
task = loop.create_task(main())
task.set_name("main")
loop.run_until_complete(task)
loop.close()
